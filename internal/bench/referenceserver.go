package bench

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

const sqlTouchReference = `UPDATE bench_reference SET created_at = now() WHERE id = $1`

const sqlReadReference = `SELECT id::text, handle, email, display_name, attributes, created_at FROM bench_reference WHERE id = $1`

// startReference starts ServeReference as a process of its own.
func startReference(ctx context.Context, log io.Writer) (*launch.Process, error) {
	return launch.Start(ctx, []string{"holdfast", "bench", "reference-server"}, nil, log)
}

// ServeReference is the bare handlers that requests are compared with: Echo, one
// read by primary key as JSON, one update that doesn't wait for the disk, a body,
// or a page of a journal. It serves on a free port, which it tells, until the context
// ends.
func ServeReference(ctx context.Context, environ []string, ready func(address string)) error {
	c, err := config.Load(config.Schema, environ)
	if err != nil {
		return err
	}
	pool, err := openOwner(ctx, c)
	if err != nil {
		return err
	}
	defer pool.Close()
	e := echo.New()
	e.GET("/reference/:id", func(c echo.Context) error {
		var r struct {
			ID          string         `json:"id"`
			Handle      string         `json:"handle"`
			Email       string         `json:"email"`
			DisplayName *string        `json:"display_name"`
			Attributes  map[string]any `json:"attributes"`
			CreatedAt   time.Time      `json:"created_at"`
		}
		err := pool.QueryRow(c.Request().Context(), sqlReadReference, c.Param("id")).
			Scan(&r.ID, &r.Handle, &r.Email, &r.DisplayName, &r.Attributes, &r.CreatedAt)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, r)
	})
	// What is sent together is one transaction.
	e.POST("/reference/:id", func(c echo.Context) error {
		batch := &pgx.Batch{}
		batch.Queue("SET LOCAL synchronous_commit = off")
		batch.Queue(sqlTouchReference, c.Param("id"))
		if err := pool.SendBatch(c.Request().Context(), batch).Close(); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	})
	serveJournal(e, pool)
	serveBodies(e, pool)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: e}
	context.AfterFunc(ctx, func() { server.Close() })
	ready(listener.Addr().String())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
