package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/launch"
)

const followers = 16 // each with a world of its own

// startSecond starts another API over the same databases, and gives a client that
// calls it as the same principal.
func (s *stack) startSecond(ctx context.Context, log io.Writer) (*launch.Process, *client, error) {
	process, err := launch.Start(ctx, []string{"api"}, []string{
		"HOLDFAST_API_ADDRESS=127.0.0.1:0", "HOLDFAST_ISSUER=http://localhost", "HOLDFAST_METRICS_ADDRESS=127.0.0.1:0", "HOLDFAST_LOG_LEVEL=warn",
	}, log)
	if err != nil {
		return nil, nil, err
	}
	second := newClient("http://"+process.Address, followers)
	second.token = s.tenant.token
	return process, second, nil
}

// follow measures the time from the sending of an append to its event's arrival on
// a stream through another API, world by world, and then the next one.
func (s *stack) follow(through *client, worlds []held) round {
	heads := make([][]byte, len(worlds))
	for i, world := range worlds {
		heads[i] = s.tenant.head(http.MethodPost, world.journal(), world.leaseHeader())
	}
	makers := newEntryMakers(len(worlds))
	return s.renewed(worlds, func(ctx context.Context, length time.Duration) (Result, error) {
		ctx, cancel := context.WithTimeout(ctx, length+patience)
		defer cancel() // which ends the streams
		streams := make([]*stream, len(worlds))
		for i, world := range worlds {
			opened, err := s.openStream(ctx, through, world)
			if err != nil {
				return Result{}, err
			}
			defer opened.body.Close()
			streams[i] = opened
		}
		return s.tenant.overWires(ctx, len(worlds), length, func(w *wire, caller int) error {
			if err := w.call(heads[caller], makers[caller].request(1), http.StatusCreated); err != nil {
				return err
			}
			var receipt struct {
				Positions []int64 `json:"positions"`
			}
			if err := json.Unmarshal(w.answer.Bytes(), &receipt); err != nil {
				return err
			}
			if len(receipt.Positions) != 1 {
				return fmt.Errorf("one entry's receipt is %s", w.answer.Bytes())
			}
			return streams[caller].await(receipt.Positions[0])
		})
	})
}

// stream is an open stream of a journal's entries.
type stream struct {
	body io.ReadCloser
	in   *bufio.Reader
}

// openStream follows a world from where its journal ends now.
func (s *stack) openStream(ctx context.Context, through *client, world held) (*stream, error) {
	var now struct {
		Position int64 `json:"position"`
	}
	if err := s.tenant.call(ctx, http.MethodGet, "/v1/worlds/"+world.World, nil, http.StatusOK, &now); err != nil {
		return nil, err
	}
	request, err := through.request(ctx, http.MethodGet, world.journal()+"/stream", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Last-Event-ID", strconv.FormatInt(now.Position, 10))
	response, err := through.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("the stream of %s answered %s", world.World, response.Status)
	}
	return &stream{body: response.Body, in: bufio.NewReader(response.Body)}, nil
}

var eventID = []byte("id: ")

// await reads events up to the one at the position, to its end.
func (s *stream) await(position int64) error {
	for seen := false; ; {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("wait for the event at %d: %w", position, err)
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if seen && len(line) == 0 {
			return nil
		}
		id, isID := bytes.CutPrefix(line, eventID)
		if !isID {
			continue
		}
		at, err := strconv.ParseInt(string(id), 10, 64)
		if err != nil || at > position {
			return fmt.Errorf("the event at %d was waited for, and %q came", position, id)
		}
		seen = at == position
	}
}
