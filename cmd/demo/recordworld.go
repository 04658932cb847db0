package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfast-dev/holdfast/clients/go"
)

const (
	quay  = "quay"
	cargo = "quay:cargo" // a collection that is bound to it
)

// warehouse keeps the cargo of a world, which only the world's writer changes.
type warehouse struct {
	*stack
	node  *holdfast.ClientWithResponses // a process that takes the world over
	lease holdfast.HoldfastLease        // that it had
}

// holds lets the node take the world over, and publish as its writer.
func (w *warehouse) holds(ctx context.Context) error {
	if err := w.make(ctx); err != nil {
		return err
	}
	return holdfast.Hold(ctx, w.node, quay, holdfast.HoldOptions{Term: nodeTerm}, func(ctx context.Context, lease *holdfast.HeldLease) error {
		w.lease = lease.Authority()
		published, err := holdfast.Publish(ctx, w.node, cargo, "crate-1", holdfast.RecordChange{IfAbsent: true, Sections: items("apples"), Lease: w.lease})
		if err != nil {
			return err
		}
		_, err = holdfast.Publish(ctx, w.acme.client, cargo, "crate-1", holdfast.RecordChange{IfRevision: 1, Sections: items("stones")})
		return errors.Join(expect(published.Revision == 1, "the receipt is %+v", published), expectCode(err, http.StatusConflict, "fenced"))
	})
}

// handedBack is behind the end of Hold, which gave the world back to the coordinator.
func (w *warehouse) handedBack(ctx context.Context) error {
	late := holdfast.RecordChange{IfRevision: 1, Sections: items("nothing"), Lease: w.lease}
	if _, err := holdfast.Publish(ctx, w.node, cargo, "crate-1", late); expectCode(err, http.StatusConflict, "fenced") != nil {
		return fmt.Errorf("what the node published: %w", err)
	}
	published, err := holdfast.Publish(ctx, w.acme.client, cargo, "crate-1", holdfast.RecordChange{IfRevision: 1, Sections: items("pears")})
	if err != nil {
		return err
	}
	return expect(published.Revision == 2, "the receipt is %+v", published)
}

func (w *warehouse) make(ctx context.Context) error {
	if _, err := w.acme.client.CreateWorldWithResponse(ctx, holdfast.NewWorld{WorldID: quay}); err != nil {
		return err
	}
	bound := true
	if _, err := w.acme.client.PutCollectionWithResponse(ctx, cargo, holdfast.NewCollection{BindWorld: &bound}); err != nil {
		return err
	}
	node, err := w.newNode(ctx, "crane", "record:read", "record:write")
	if err != nil {
		return err
	}
	w.node, err = w.connect(node.key)
	return err
}
