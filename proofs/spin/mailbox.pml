/* SPDX-License-Identifier: Apache-2.0
 * kernel/snapshot_mailbox.hpp: worlds go from the builder to the decider by one exchange, and come back through a few places
 * to be freed by the builder. Shown: the decider never uses a world that was freed, nothing is freed twice, and the decider
 * never waits. */
#define WORLDS 4
#define ROOM 2

byte incoming, current;  /* 0 is no world */
byte retired[ROOM];
bool freed[WORLDS + 1];

inline free(w) {
  if
  :: w != 0 -> assert(!freed[w]); freed[w] = true
  :: else -> skip
  fi
}

active proctype builder() {
  byte world = 1, old, i;
  do
  :: world <= WORLDS ->
    i = 0;
    do
    :: i < ROOM -> atomic { old = retired[i]; retired[i] = 0 }; free(old); i++
    :: else -> break
    od;
#ifdef BUG_LOAD_THEN_STORE
    old = incoming;
    incoming = world;
#else
    atomic { old = incoming; incoming = world };
#endif
    free(old);
    world++
  :: else -> break
  od
}

active proctype decider() {
  byte newer, i, takes;
  do
  :: takes < 6 ->
    if
    :: incoming == 0 -> skip
    :: else ->
      i = 0;
      do
      :: i < ROOM && retired[i] != 0 -> i++
      :: i < ROOM && retired[i] == 0 ->
#ifdef BUG_RETIRES_FIRST
        retired[i] = current;
        assert(current == 0 || !freed[current]);
        atomic { newer = incoming; incoming = 0 };
        if
        :: newer != 0 -> current = newer
        :: else -> skip
        fi;
#else
        atomic { newer = incoming; incoming = 0 };
        if
        :: newer != 0 -> retired[i] = current; current = newer
        :: else -> skip
        fi;
#endif
        break
      :: i >= ROOM -> break
      od
    fi;
    assert(current == 0 || !freed[current]);  /* the world is used here */
    takes++
  :: else -> break
  od
}
