package load

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

type options struct {
	target        string
	streams       int
	perConnection int
	cluster       string
}

// client is all streams together.
type client struct {
	options options
	types   []*subscribed
	// Where the clock of this process stands against CLOCK_MONOTONIC, which the bench reads as well.
	started     time.Time
	startedMono int64

	connections []*connection
	streams     []*stream
	ended       sync.WaitGroup
	failed      chan error

	mu       sync.Mutex
	fills    int
	lastFill int64
	allFull  chan struct{}
	changes  map[int]*spread
}

// spread is how a change came to the streams.
type spread struct {
	streams int
	first   int64
	last    int64
	all     chan struct{}
}

func newClient(options options, types []*subscribed) *client {
	var now unix.Timespec
	started := time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return &client{
		options: options, types: types, failed: make(chan error, 1),
		started: started, startedMono: now.Nano(), changes: map[int]*spread{},
	}
}

// now is CLOCK_MONOTONIC in nanoseconds.
func (c *client) now() int64 {
	return c.startedMono + int64(time.Since(c.started))
}

// indexOf finds a type by its URL.
func (c *client) indexOf(typeURL []byte) int {
	for at, t := range c.types {
		if t.url == string(typeURL) {
			return at
		}
	}
	return -1
}

func (c *client) fail(err error) {
	select {
	case c.failed <- err:
	default:
	}
}

// connect opens all streams at once.
func (c *client) connect(returning bool) error {
	if !returning {
		for _, t := range c.types {
			t.names, t.versions = nil, nil
		}
	}
	c.fills, c.allFull = 0, make(chan struct{})
	c.streams = nil
	for i := range c.options.streams {
		c.streams = append(c.streams, newStream(c, i, returning))
	}
	count := (len(c.streams) + c.options.perConnection - 1) / c.options.perConnection
	c.connections = make([]*connection, count)
	var dialed sync.WaitGroup
	var refused atomic.Pointer[error]
	for i := range c.connections {
		from := i * c.options.perConnection
		streams := c.streams[from:min(from+c.options.perConnection, len(c.streams))]
		dialed.Add(1)
		go func() {
			defer dialed.Done()
			connection, err := dial(c, c.options.target, streams)
			if err != nil {
				refused.Store(&err)
				return
			}
			c.connections[i] = connection
			c.ended.Add(1)
			go func() {
				defer c.ended.Done()
				if err := connection.run(); err != nil {
					c.fail(err)
				}
			}()
		}()
	}
	dialed.Wait()
	if err := refused.Load(); err != nil {
		return *err
	}
	return nil
}

func (c *client) disconnect() {
	for _, connection := range c.connections {
		connection.close()
	}
	c.ended.Wait()
}

func (c *client) streamFilled(at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fills++
	c.lastFill = max(c.lastFill, at)
	if c.fills == len(c.streams) {
		close(c.allFull)
	}
}

// change gives the spread of a change, from before it was made.
func (c *client) change(number int) *spread {
	found := c.changes[number]
	if found == nil {
		found = &spread{all: make(chan struct{})}
		c.changes[number] = found
	}
	return found
}

func (c *client) arrived(number int, at int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change := c.change(number)
	if change.streams == 0 {
		change.first = at
	}
	change.streams++
	change.last = max(change.last, at)
	if change.streams == len(c.streams) {
		close(change.all)
	}
}

// wait waits for something, for a failure, or for a minute.
func (c *client) wait(what string, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case err := <-c.failed:
		return err
	case <-time.After(time.Minute):
		return fmt.Errorf("%s: not within a minute", what)
	}
}

// quiet waits until nothing has come for two seconds.
func (c *client) quiet() error {
	const calm = 2 * time.Second
	last, since := -1, time.Now()
	for time.Since(since) < calm {
		total := 0
		for _, connection := range c.connections {
			connection.mu.Lock()
			for _, s := range connection.streams {
				for _, got := range s.got {
					total += got.bytes
				}
			}
			connection.mu.Unlock()
		}
		if total != last {
			last, since = total, time.Now()
		}
		select {
		case err := <-c.failed:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
