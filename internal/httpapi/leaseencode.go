package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func encodeJournalActor(a journal.Actor) JournalActor {
	return JournalActor{Type: string(a.Type), Issuer: a.Issuer, Subject: a.Subject}
}

// encodeLease leaves out, for the coordinator, what only a node's lease has.
func encodeLease(s lease.State) Lease {
	at, hash := s.Now.UTC(), s.Hash.String()
	encoded := Lease{
		WorldID:         s.World,
		Position:        s.Position,
		Epoch:           s.Epoch,
		Holder:          encodeJournalActor(s.Holder),
		Activated:       &s.Activated,
		GrantedPosition: &s.GrantedPosition,
		RenewedPosition: &s.RenewedPosition,
		WrittenPosition: &s.WrittenPosition,
		ChainHash:       &hash,
		At:              &at,
	}
	if !s.Holder.IsCoordinator() {
		left := remaining(s.Remaining)
		encoded.TermSeconds, encoded.RemainingMs = &s.TermSeconds, &left
		encoded.ExpiresAt, encoded.ActivateBy = utcOrNil(&s.ExpiresAt), utcOrNil(&s.ActivateBy)
	}
	return encoded
}

// provenLease is a Lease at a position. Its proof is the entry as the journal gives
// it, to the letter: the generated type would spell its time otherwise.
type provenLease struct {
	WorldID  string          `json:"world_id"`
	Position int64           `json:"position"`
	Epoch    int64           `json:"epoch"`
	Holder   JournalActor    `json:"holder"`
	Proof    json.RawMessage `json:"proof"`
}

func encodeProof(world string, p lease.Proof) provenLease {
	return provenLease{world, p.Position, p.Epoch, encodeJournalActor(p.Holder), p.Entry.AppendJSON(nil)}
}

// VisitGetLeaseResponse writes the lease.
func (p provenLease) VisitGetLeaseResponse(w http.ResponseWriter) error { return p.write(w) }

// VisitGetTenantLeaseResponse writes the lease.
func (p provenLease) VisitGetTenantLeaseResponse(w http.ResponseWriter) error { return p.write(w) }

func (p provenLease) write(w http.ResponseWriter) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", mediaJSON)
	_, err = w.Write(text)
	return err
}

func encodeHandedOff(h lease.HandedOff) WriterChange {
	return WriterChange{WorldID: h.World, Position: h.Position, Epoch: h.Epoch, Holder: encodeJournalActor(h.To)}
}

// leaseRefusal says of one of many what a problem would say of it alone.
func (s *server) leaseRefusal(ctx context.Context, err error) *LeaseRefusal {
	var known *domain.Error
	if !errors.As(err, &known) || known.Kind == domain.KindInternal {
		s.log.ErrorContext(ctx, "one of several was not decided", "error", err)
		hidden := internal(err)
		return &LeaseRefusal{Code: hidden.code, Detail: hidden.detail}
	}
	refusal := &LeaseRefusal{Code: known.Code, Detail: known.Detail}
	if epoch, is := known.Members["epoch"].(int64); is {
		refusal.Epoch = &epoch
	}
	if holder, is := known.Members["holder"].(journal.Actor); is {
		encoded := encodeJournalActor(holder)
		refusal.Holder = &encoded
	}
	if after := retryLine(known); after > 0 {
		whole := wholeSeconds(after)
		refusal.RetryAfter = &whole
	}
	return refusal
}

// remaining is in milliseconds, and never too long.
func remaining(d time.Duration) int64 { return max(d, 0).Milliseconds() }

// wholeTerm is in seconds, which terms are in.
func wholeTerm(d time.Duration) int64 { return int64(d / time.Second) }
