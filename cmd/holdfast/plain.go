package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
)

// plain puts what went wrong with a call into words for people: the problem's
// detail, the places and the record that it points at, and what is needed to ask
// about it.
func plain(api string, err error) error {
	var refused *holdfast.Error
	var unsent *url.Error
	switch {
	case errors.As(err, &refused) && refused.Code == "":
		return fmt.Errorf("%s answers with HTTP status %d, and not as Holdfast does", api, refused.Status)
	case errors.As(err, &refused):
		return errors.New(refusal(refused))
	case errors.As(err, &unsent):
		return unreached(api, unsent)
	default:
		return err
	}
}

// unreached says that the API didn't answer, and what is known of why.
func unreached(api string, err *url.Error) error {
	var number syscall.Errno
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case err.Timeout():
		return fmt.Errorf("the API at %s didn't answer in time", api)
	case errors.As(err, &name):
		return fmt.Errorf("the API at %s can't be reached: nobody knows the host %q", api, name.Name)
	case errors.As(err, &number):
		return fmt.Errorf("the API at %s can't be reached: %s", api, number.Error())
	default:
		return fmt.Errorf("the API at %s can't be reached: %w", api, err.Err)
	}
}

// plainly likewise puts what the databases were asked into words, where a caller
// may see them.
func plainly(err error) error {
	var refused *domain.Error
	if errors.As(err, &refused) && refused.Kind != domain.KindInternal {
		return fmt.Errorf("%s (%s)", refused.Detail, refused.Code)
	}
	return err
}

func refusal(e *holdfast.Error) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s, request %s)", e.Detail, e.Code, e.RequestID)
	if e.Errors != nil {
		for _, at := range *e.Errors {
			fmt.Fprintf(&text, "\n  %s: %s", at.Pointer, at.Code)
		}
	}
	for _, line := range about(e) {
		text.WriteString("\n  " + line)
	}
	return text.String()
}

// about are the record, the migration and the rest that a problem names.
func about(e *holdfast.Error) (lines []string) {
	if place := placeOf(deref(e.Collection), deref(e.Key), deref(e.Section)); place != "" {
		lines = append(lines, strings.TrimPrefix(place, " "))
	}
	for _, of := range []struct {
		words string
		named *string
	}{
		{"the migration is ", e.State}, {"by the migration ", e.MigrationID}, {"by the report ", e.ReportID}, {"in the field ", e.Field},
	} {
		if of.named != nil {
			lines = append(lines, of.words+*of.named)
		}
	}
	if e.Drift != nil {
		lines = append(lines, driftLines(*e.Drift)...)
	}
	return lines
}
