package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// hold is a transaction on each data database, as the role that owns it, which
// sees the rows of one tenant and holds others up until it is released.
type hold []pgx.Tx

const (
	sqlAsTenant      = `SELECT set_config('holdfast.tenant', $1, true)`
	sqlHoldClaims    = `LOCK TABLE claims IN SHARE ROW EXCLUSIVE MODE`
	sqlHoldOperation = `SELECT FROM operations FOR UPDATE`
	sqlCountClaims   = `SELECT count(*) FROM claims WHERE key IN ($1, $2)`
)

// patience is less than the servers' own for locks.
const patience = 2 * time.Second

func openHold(ctx context.Context, tenant holdfast.ID) (h hold, err error) {
	for _, entry := range strings.Fields(os.Getenv("HOLDFAST_DATA_URLS")) {
		_, url, _ := strings.Cut(entry, "=")
		config, err := pgx.ParseConfig(url)
		if err != nil {
			return h, errors.New("HOLDFAST_DATA_URLS can't be read")
		}
		config.User, config.Password = "holdfast_owner", os.Getenv("HOLDFAST_OWNER_PASSWORD")
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return h, err
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return h, err
		}
		h = append(h, tx)
		if _, err := tx.Exec(ctx, sqlAsTenant, tenant); err != nil {
			return h, err
		}
	}
	return h, nil
}

// release lets everybody go on. It may be called twice.
func (h hold) release(ctx context.Context) {
	for _, tx := range h {
		tx.Conn().Close(context.WithoutCancel(ctx))
	}
}

// holdClaims holds up whoever claims a key.
func holdClaims(ctx context.Context, tenant holdfast.ID) (hold, error) {
	h, err := openHold(ctx, tenant)
	for _, tx := range h {
		if err == nil {
			_, err = tx.Exec(ctx, sqlHoldClaims)
		}
	}
	return h, err
}

// holdOperation waits for the tenant's prepared operation and holds its row.
func holdOperation(ctx context.Context, tenant holdfast.ID) (hold, error) {
	h, err := openHold(ctx, tenant)
	if err != nil {
		return h, err
	}
	return h, h.await(ctx, "the operation was not prepared", func(tx pgx.Tx) (int, error) {
		tag, err := tx.Exec(ctx, sqlHoldOperation)
		return int(tag.RowsAffected()), err
	}, 1)
}

// awaitClaims waits until both keys of the account are claimed.
func (h hold) awaitClaims(ctx context.Context, account holdfast.NewAccount) error {
	return h.await(ctx, "the keys were not claimed", func(tx pgx.Tx) (n int, err error) {
		return n, tx.QueryRow(ctx, sqlCountClaims, account.Handle, *account.Email).Scan(&n)
	}, 2)
}

// await counts on all databases until there are as many as wanted.
func (h hold) await(ctx context.Context, otherwise string, count func(pgx.Tx) (int, error), want int) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		total := 0
		for _, tx := range h {
			n, err := count(tx)
			if err != nil {
				return err
			}
			total += n
		}
		if total == want {
			return nil
		}
	}
	return errors.New(otherwise)
}
