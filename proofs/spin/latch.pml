/* SPDX-License-Identifier: Apache-2.0
 * The latch (kernel/latch.cpp) between two e-stop sources, of which the first is required, and a driver that must acknowledge
 * every stop by its number. Shown: a latch ends only by a reset, and only when no source holds it and the driver has
 * acknowledged this stop, not an earlier one; nothing passes after the first poll that finds the required source dead;
 * no deadlock. */
#define STEPS 3

bool asserted[2];          /* what sources hold: a level in shared memory */
bool alive = true;         /* of the required source */
bool latched, missing;
byte sequence;             /* grows with every stop and every reset */
byte acknowledged;         /* the stop that the driver says it has stopped for */
bool has_acknowledged;
byte stopped_for;          /* the truth: the last stop for which the driver stands still */
bool over;
bool death_polled;         /* the truth: the kernel has polled since the required source died */

#ifdef BUG_RESET_WHILE_HELD
#define MAY_BE_RESET true
#else
#define MAY_BE_RESET (!asserted[0] && !asserted[1])
#endif

inline stop() {
  if
  :: !latched -> latched = true; sequence++; has_acknowledged = false
  :: else -> skip
  fi
}

active [2] proctype source() {
  byte steps;
  do
  :: steps < STEPS -> asserted[_pid] = !asserted[_pid]; steps++
  :: _pid == 0 && alive -> alive = false; break  /* dies, holding what it held */
  :: break
  od
}

active proctype kernel() {
  byte resets;
  do
  :: atomic {  /* one poll, under the lock */
      if
      :: asserted[0] || asserted[1] -> stop()
      :: else -> skip
      fi;
#ifndef BUG_DEATH_IGNORED
      if
      :: !alive && !missing -> stop(); missing = true
      :: else -> skip
      fi;
#endif
      if
      :: !alive -> death_polled = true
      :: else -> skip
      fi
    }
  :: atomic {  /* an acknowledgement arrives */
#ifdef BUG_ANY_ACKNOWLEDGEMENT
      latched && acknowledged != 0 -> has_acknowledged = true
#else
      latched && acknowledged == sequence -> has_acknowledged = true
#endif
    }
  :: atomic {  /* a reset */
      resets < 3 && latched && has_acknowledged && !missing && MAY_BE_RESET -> assert(stopped_for == sequence); assert(!asserted[0] && !asserted[1]); assert(alive || !missing);
      latched = false; sequence++; resets++ }
  :: over -> break
  od
}

active proctype driver() {
  byte acts;
  do
  :: acts < 5 ->
    if
    :: atomic { latched -> stopped_for = sequence }; acknowledged = stopped_for
    :: atomic { !latched -> assert(!death_polled) }  /* a chunk passes */
    fi;
    acts++
  :: else -> break
  od;
  over = true
}
