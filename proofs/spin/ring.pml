/* SPDX-License-Identifier: Apache-2.0
 * The ring buffer of kernel/ring.cpp: one writer that never waits, readers that copy a slot and believe it only if its turn
 * did not change meanwhile. `turn` is 2n when message n can be read and 2n - 1 while it is written.
 * Shown: what a reader returns is one whole message, of the sequence number it asked for; the writer is never blocked.
 * Memory is sequentially consistent here; that acquire and release suffice is the business of the C++ comments and of the
 * thread sanitizer. */
#define SLOTS 2
#define MESSAGES 4
#define WORDS 2
#define SLOT(n) ((n - 1) % SLOTS)

byte turn[SLOTS];
byte words[SLOTS * WORDS];  /* of slot s: words[s * WORDS + w] */
byte newest;

active proctype writer() {
  byte n = 1, w;
  do
  :: n <= MESSAGES ->
#ifndef BUG_NO_WRITING_MARK
    turn[SLOT(n)] = 2 * n - 1;
#endif
    w = 0;
    do
    :: w < WORDS -> words[SLOT(n) * WORDS + w] = n; w++
    :: else -> break
    od;
    turn[SLOT(n)] = 2 * n;
    newest = n;
    n++
  :: else -> break
  od
}

active [2] proctype reader() {
  byte cursor, seen, wanted, before, w, first, last;
  do
  :: cursor < MESSAGES ->
    seen = newest;
    if
    :: seen <= cursor -> skip
    :: else ->
      if
      :: seen - cursor > SLOTS -> cursor = seen - SLOTS
      :: else -> skip
      fi;
      wanted = cursor + 1;
      cursor = wanted;
      before = turn[SLOT(wanted)];
      if
      :: before == 2 * wanted ->
        first = words[SLOT(wanted) * WORDS];
        last = words[SLOT(wanted) * WORDS + 1];
#ifdef BUG_TURN_NOT_READ_AGAIN
        assert(first == wanted && last == wanted)
#else
        if
        :: turn[SLOT(wanted)] == before -> assert(first == wanted && last == wanted)
        :: else -> skip  /* lost, and counted */
        fi
#endif
      :: else -> skip
      fi
    fi
  :: else -> break
  od
}
