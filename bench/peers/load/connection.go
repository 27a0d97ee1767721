package load

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"

	// Envoy's windows for its connections to a control plane.
	streamWindow     = 16 << 20
	connectionWindow = 24 << 20

	defaultWindow    = 65535
	defaultFrameSize = 16384
)

// connection is an HTTP/2 connection that carries a few streams. gRPC's own client would take several goroutines and
// buffers for each, and cost more than the servers it is to measure.
type connection struct {
	net     net.Conn
	client  *client
	streams map[uint32]*stream

	// Of the reading goroutine.
	in       *bufio.Reader
	received int64
	decoder  *hpack.Decoder

	mu     sync.Mutex
	out    *bufio.Writer
	framer *http2.Framer
	// What the server lets us send.
	window       int64
	streamWindow int64
	frameSize    int
	// waiting are the streams, in order, whose bytes the windows hold back.
	waiting []*stream
	closed  bool
}

// dial connects, opens a call for each stream and sends its first request.
func dial(client *client, target string, streams []*stream) (*connection, error) {
	conn, err := net.Dial("tcp", target)
	if err != nil {
		return nil, err
	}
	c := &connection{
		net: conn, client: client, streams: map[uint32]*stream{}, in: bufio.NewReaderSize(conn, 32<<10),
		out: bufio.NewWriterSize(conn, 32<<10), window: defaultWindow, streamWindow: defaultWindow,
		frameSize: defaultFrameSize, decoder: hpack.NewDecoder(4096, nil),
	}
	c.framer = http2.NewFramer(c.out, c.in)
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(1 << 20)

	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.WriteString(http2.ClientPreface)
	c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
	)
	c.framer.WriteWindowUpdate(0, connectionWindow-defaultWindow)
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	for i, s := range streams {
		s.connection = c
		s.id = uint32(2*i + 1)
		s.window = c.streamWindow
		c.streams[s.id] = s
		headers.Reset()
		for _, field := range [][2]string{
			{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", target},
			{"te", "trailers"}, {"content-type", "application/grpc"}, {"user-agent", "bench"},
		} {
			encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		c.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: s.id, BlockFragment: headers.Bytes(), EndHeaders: true})
		c.send(s, s.first())
	}
	return c, c.out.Flush()
}

// send queues a message of a stream and writes what the windows allow. The caller holds mu and flushes.
func (c *connection) send(s *stream, message []byte) {
	if len(s.unsent) == 0 {
		c.waiting = append(c.waiting, s)
		s.unsent = message
	} else {
		s.unsent = append(s.unsent, message...)
	}
	c.write()
}

func (c *connection) write() {
	held := c.waiting[:0]
	for _, s := range c.waiting {
		for len(s.unsent) > 0 {
			n := min(int64(len(s.unsent)), int64(c.frameSize), c.window, s.window)
			if n <= 0 {
				break
			}
			c.framer.WriteData(s.id, false, s.unsent[:n])
			s.unsent = s.unsent[n:]
			c.window -= n
			s.window -= n
		}
		if len(s.unsent) > 0 {
			held = append(held, s)
		}
	}
	c.waiting = held
}

// run reads until the connection ends.
func (c *connection) run() error {
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.closed {
				return nil
			}
			return err
		}
		c.mu.Lock()
		err = c.take(frame)
		// Answers go out together when there is nothing more to read.
		if err == nil && c.in.Buffered() == 0 {
			err = c.out.Flush()
		}
		closed := c.closed
		c.mu.Unlock()
		if closed {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *connection) take(frame http2.Frame) error {
	switch frame := frame.(type) {
	case *http2.DataFrame:
		s := c.streams[frame.StreamID]
		size := int64(frame.Header().Length)
		c.received += size
		s.received += size
		s.take(frame.Data())
		// Envoy, too, gives a window back once half of it is used.
		if c.received >= connectionWindow/2 {
			c.framer.WriteWindowUpdate(0, uint32(c.received))
			c.received = 0
		}
		if s.received >= streamWindow/2 {
			c.framer.WriteWindowUpdate(s.id, uint32(s.received))
			s.received = 0
		}
		if frame.StreamEnded() {
			return fmt.Errorf("stream %d ended", s.index)
		}
	case *http2.HeadersFrame:
		fields, err := c.decoder.DecodeFull(frame.HeaderBlockFragment())
		if err != nil {
			return err
		}
		if frame.StreamEnded() {
			return fmt.Errorf("stream ended: %v", fields)
		}
	case *http2.SettingsFrame:
		if frame.IsAck() {
			return nil
		}
		frame.ForeachSetting(func(setting http2.Setting) error {
			switch setting.ID {
			case http2.SettingInitialWindowSize:
				change := int64(setting.Val) - c.streamWindow
				c.streamWindow = int64(setting.Val)
				for _, s := range c.streams {
					s.window += change
				}
			case http2.SettingMaxFrameSize:
				c.frameSize = int(setting.Val)
			}
			return nil
		})
		c.framer.WriteSettingsAck()
		c.write()
	case *http2.WindowUpdateFrame:
		if frame.StreamID == 0 {
			c.window += int64(frame.Increment)
		} else if s := c.streams[frame.StreamID]; s != nil {
			s.window += int64(frame.Increment)
		}
		c.write()
	case *http2.PingFrame:
		if !frame.IsAck() {
			c.framer.WritePing(true, frame.Data)
		}
	case *http2.RSTStreamFrame:
		return fmt.Errorf("stream reset: %v", frame.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server sends the connection away: %v %s", frame.ErrCode, frame.DebugData())
	}
	return nil
}

func (c *connection) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.net.Close()
}
