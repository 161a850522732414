package main

import "time"

// pace is how long things are measured.
type pace struct {
	echo, echoWarm time.Duration // W1
	echoRuns       int           // how often it is tried to find the path punctual
	rush, rushWarm time.Duration // W2, the warming up included in the first

	crowd     time.Duration // W3: a turn of a site
	crowds    int           // turns
	crowdWarm time.Duration

	room, roomWarm time.Duration // W4

	// W5: how many players ask for steps, from what time on and for how long, and how often it is tried to find the path and the
	// players punctual.
	feelPlayers    int
	feel, feelWarm time.Duration
	feelRuns       int

	// W6: for how long is played, from when on it is measured, and how long before the end nothing more is asked for.
	narrow, narrowWarm, narrowRest time.Duration
	narrowRuns                     int // how often it is tried to find the link punctual
}

var (
	fullPace = pace{
		echo: 20 * time.Second, echoWarm: 2 * time.Second, echoRuns: 2,
		rush: 4500 * time.Millisecond, rushWarm: 500 * time.Millisecond,
		crowd: 500 * time.Millisecond, crowds: 24, crowdWarm: 500 * time.Millisecond,
		room: 8 * time.Second, roomWarm: time.Second,
		feelPlayers: feelPlayers, feel: 20 * time.Second, feelWarm: 2 * time.Second, feelRuns: 2,
		narrow: 24 * time.Second, narrowWarm: 3 * time.Second, narrowRest: 2 * time.Second, narrowRuns: 2,
	}
	quickPace = pace{
		echo: 4 * time.Second, echoWarm: time.Second, echoRuns: 1,
		rush: 1500 * time.Millisecond, rushWarm: 300 * time.Millisecond,
		crowd: 500 * time.Millisecond, crowds: 8, crowdWarm: 300 * time.Millisecond,
		room: 2 * time.Second, roomWarm: 500 * time.Millisecond,
		feelPlayers: feelPlayers, feel: 5 * time.Second, feelWarm: 2 * time.Second, feelRuns: 1,
		narrow: 9 * time.Second, narrowWarm: 3 * time.Second, narrowRest: time.Second, narrowRuns: 1,
	}
)
