/* SPDX-License-Identifier: Apache-2.0
 * A stop against the passing of a chunk: Ring::write_unless_stopped, Ring::ask_stop (kernel/ring.cpp) and the thread that
 * listens for stops (kernel/process_stops.cpp). Stops and the newest message share one word, which both change by one atomic
 * step. `blocked` is the truth: a stop was asked for and no reset came after the kernel heard it.
 * Shown: no chunk passes while `blocked`; every stop is latched in the end. */
#define STOPS 3
#define CHUNKS 3

byte stops, newest;      /* the two halves of one atomic word */
byte heard;              /* by the listener, under the lock */
bool latched, lock, blocked, done;
byte passed, clients_left = 2;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

active [2] proctype client() {
  if
  :: atomic { stops < STOPS -> stops++; blocked = true }
  :: skip
  fi;
  clients_left--
}

active proctype listener() {
  byte asked;
  do
  :: asked = stops;
    acquire();
#ifdef BUG_HEARD_BUT_NOT_LATCHED
    if
    :: asked != heard -> heard = asked; release(); acquire(); latched = true
    :: else -> skip
    fi;
#else
    if
    :: asked != heard -> heard = asked; latched = true
    :: else -> skip
    fi;
#endif
    release()
  :: done && clients_left == 0 && stops == heard -> break
  od
}

active proctype operator() {
  byte tries;
  do
  :: tries < 2 ->
    acquire();
    atomic {
      if
#ifdef BUG_RESET_FORGETS_STOPS
      :: latched -> latched = false; blocked = (stops != heard); heard = stops
#else
      :: latched && stops == heard -> latched = false; blocked = false
      :: latched && stops != heard -> latched = false  /* the newer stop is heard next, and until then nothing passes */
#endif
      :: else -> skip
      fi
    };
    release();
    tries++
  :: else -> break
  od
}

active proctype decider() {
  byte chunk, knows, at;
  do
  :: chunk < CHUNKS ->
    acquire();
    if
    :: latched -> release()
    :: else ->
      knows = heard;
      at = newest;
#ifdef BUG_ASKS_AGAIN
      knows = stops;
#endif
#ifdef BUG_TWO_STEPS
      if
      :: stops == knows -> assert(!blocked); newest = at + 1; assert(!blocked); passed++
      :: else -> skip
      fi;
#else
      atomic {
        if
        :: stops == knows && newest == at -> assert(!blocked); newest = at + 1; passed++
        :: else -> skip
        fi
      };
#endif
      release()
    fi;
    chunk++
  :: else -> done = true; break
  od
}

#ifdef LTL
ltl heard_in_the_end { [] (stops > heard -> <> (stops == heard)) }
#endif
