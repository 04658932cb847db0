package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// send notes that the bodies of a publication may be read from now on.
func (s *recordStorm) send(d *publishing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for section, body := range *d.asked.Sections {
		at := bodyPlace{d.collection, d.asked.Key, section}
		s.sent[at] = append(s.sent[at], digestOf(body.Body))
	}
}

func digestOf(body []byte) string {
	digest := sha256.Sum256(body)
	return hex.EncodeToString(digest[:])
}

func (p *publisher) hearReceipt(d *publishing, receipt holdfast.Receipt, replayed bool) {
	d.receipt = receipt
	if replayed {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.replayed++
	}
}

// refusals are what a publication may come to that asked for something else than
// there was.
const refusals = "revision_stale record_exists record_not_found digest_mismatch primary_missing"

// hear takes in the answer that stands.
func (p *publisher) hear(t *testing.T, d *publishing, err error) {
	if err != nil {
		for code := range strings.FieldsSeq(refusals) {
			if holdfast.IsCode(err, code) {
				d.refusal = code
			}
		}
		if d.refusal == "" {
			p.fault(t, "%s of %s: %v", d.asked.OperationID, d.asked.Key, err)
			return
		}
	} else {
		p.own = append(p.own, d)
	}
	p.acknowledge(d)
}

// acknowledge notes what came of a publication in the end.
func (s *recordStorm) acknowledge(d *publishing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, d)
	if d.refusal != "" || d.receipt.Outcome != "published" {
		return
	}
	at := recordPlace{d.collection, d.asked.Key}
	s.told[at] = max(s.told[at], d.receipt.Revision)
	for _, change := range d.receipt.Changes {
		s.standing[bodyPlace{d.collection, d.asked.Key, change.Section}] = true
	}
}

// refusalOf is a problem of one of many as if it had come alone.
func refusalOf(problem *holdfast.RecordProblem) error {
	return &holdfast.Error{Problem: holdfast.Problem{Code: problem.Code, Detail: problem.Detail}}
}
