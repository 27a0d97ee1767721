// Package console is how a bench talks to a program: commands come in and events go out, each a line of JSON.
package console

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
)

var mu sync.Mutex

// Tell writes an event.
func Tell(event any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	mu.Lock()
	defer mu.Unlock()
	os.Stdout.Write(append(line, '\n'))
}

// Ready tells the port that a server listens on.
func Ready(port int) {
	Tell(map[string]any{"event": "ready", "port": port})
}

// Each hands every command to handle, one after another, until the input ends or a command fails.
func Each[Command any](handle func(Command) error) error {
	reader := bufio.NewReader(os.Stdin)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var command Command
		if err := json.Unmarshal(line, &command); err != nil {
			return fmt.Errorf("reading a command: %w", err)
		}
		if err := handle(command); err != nil {
			return err
		}
	}
}
