// Package load is a thousand proxies as cheaply as they can be had: delta streams that subscribe as Envoy does,
// acknowledge every response and note when a change came. Resources are never decoded, so that what a bench measures
// is the server.
package load

import (
	"errors"
	"flag"
	"fmt"
	"slices"

	"fairway/bench/peers/console"
	"fairway/bench/peers/resources"
)

// command is what the bench says.
//
//	connect     opens all streams; answered when each has everything
//	await       answered when a change has come to all streams
//	lags        answers with how long each change took to each stream
//	disconnect  closes everything
//	reconnect   opens all streams with what they had; answered when nothing comes any more
type command struct {
	Do     string `json:"do"`
	Change int    `json:"change"`
	// Starts are the times at which the changes 0, 1, … were made, by CLOCK_MONOTONIC in nanoseconds.
	Starts []int64 `json:"starts"`
	// Pools is how many pools the changes went to, in turns: change n was one of pool n mod Pools.
	Pools int `json:"pools"`
	// First is the number of the first of the changes in Starts.
	First int `json:"first"`
}

// Run connects and measures until the input ends.
func Run(args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	var options options
	flags.StringVar(&options.target, "target", "", "host:port of the server")
	flags.IntVar(&options.streams, "streams", 1000, "number of streams")
	flags.IntVar(&options.perConnection, "per-connection", 1, "streams on a connection")
	flags.StringVar(&options.cluster, "cluster", "edge", "node.cluster of all streams")
	path := flags.String("resources", "", "file of the resources that the server has")
	if err := flags.Parse(args); err != nil {
		return err
	}
	found, err := resources.Read(*path)
	if err != nil {
		return err
	}
	byType := resources.ByType(found)
	var types []*subscribed
	for _, t := range resources.Types {
		if len(byType[t.URL]) > 0 {
			types = append(types, newSubscribed(t, byType[t.URL]))
		}
	}
	client := newClient(options, types)
	return console.Each(client.handle)
}

func (c *client) handle(command command) error {
	switch command.Do {
	case "connect":
		from := c.now()
		if err := c.connect(false); err != nil {
			return err
		}
		if err := c.wait("filling the streams", c.allFull); err != nil {
			return err
		}
		console.Tell(map[string]any{"event": "filled", "ms": millis(c.lastFill - from), "bytes": c.bytes()})
	case "await":
		c.mu.Lock()
		change := c.change(command.Change)
		c.mu.Unlock()
		if err := c.wait(fmt.Sprintf("change %d", command.Change), change.all); err != nil {
			return err
		}
		console.Tell(map[string]any{"event": "arrived", "first": change.first, "last": change.last})
	case "lags":
		return c.tellLags(command)
	case "disconnect":
		c.disconnect()
		console.Tell(map[string]any{"event": "disconnected"})
	case "reconnect":
		if err := c.connect(true); err != nil {
			return err
		}
		if err := c.quiet(); err != nil {
			return err
		}
		console.Tell(map[string]any{"event": "reconnected", "bytes": c.bytes()})
	default:
		return fmt.Errorf("there is no command %q", command.Do)
	}
	return nil
}

// bytes are the most that a stream received, by type.
func (c *client) bytes() map[string]int {
	most := map[string]int{}
	for _, s := range c.streams {
		s.connection.mu.Lock()
		for at, got := range s.got {
			url := c.types[at].url
			most[url] = max(most[url], got.bytes)
		}
		s.connection.mu.Unlock()
	}
	return most
}

// tellLags says how long changes took, over all changes and streams. A change that a stream never saw, because a newer
// one of the same pool overtook it, took until the newer one came.
func (c *client) tellLags(command command) error {
	var lags []int64
	overtaken, missing := 0, 0
	for _, s := range c.streams {
		s.connection.mu.Lock()
		at := make(map[int]int64, len(s.arrivals))
		for _, arrival := range s.arrivals {
			at[arrival.change] = arrival.at
		}
		s.connection.mu.Unlock()
		for i, start := range command.Starts {
			change := command.First + i
			end, ok := at[change]
			if !ok {
				overtaken++
			}
			for next := change + command.Pools; !ok && next < command.First+len(command.Starts); next += command.Pools {
				end, ok = at[next]
			}
			if !ok {
				missing++
				continue
			}
			lags = append(lags, end-start)
		}
	}
	if len(lags) == 0 {
		return errors.New("no change came to any stream")
	}
	slices.Sort(lags)
	at := func(share float64) float64 { return millis(lags[min(int(share*float64(len(lags))), len(lags)-1)]) }
	console.Tell(map[string]any{
		"event": "lags", "p50": at(0.5), "p99": at(0.99), "max": millis(lags[len(lags)-1]),
		"overtaken": overtaken, "missing": missing})
	return nil
}

func millis(ns int64) float64 {
	return float64(ns) / 1e6
}
