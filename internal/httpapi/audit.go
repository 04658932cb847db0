package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// AuditLog is what the API needs of audit.Log.
type AuditLog interface {
	Append(context.Context, audit.Entry) (sequence int64, err error)
	Admit(tenant domain.TenantID) error
	Entries(ctx context.Context, filter audit.Filter, after int64, limit int) (entries []audit.Chained, more bool, err error)
	EntriesOf(ctx context.Context, tenant domain.TenantID, filter audit.Filter, after int64, limit int) (entries []audit.Chained, more bool, err error)
	Head(context.Context) (audit.Head, error)
}

// AuditRefusals is what it needs of audit.Refusals.
type AuditRefusals interface {
	Note(context.Context, audit.Entry) error
}

// auditTimeout is what an entry may take that is written at the end of a request,
// beyond the request's own deadline.
const auditTimeout = 5 * time.Second

// maxSubject bounds what an entry repeats of a path, in bytes.
const maxSubject = 256

// act is an administrative act on its way through the log.
type act struct {
	entry audit.Entry // without an outcome
	began int64       // the number of the entry that began it; 0 while nothing may be done
	ended bool
}

// audit has every administrative act end in the log: with its outcome, just before
// the answer's first byte, or as one that was refused before it began.
func (s *server) audit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		call := callOf(c.Request().Context())
		if op := call.operation; op == nil || !op.audited {
			return next(c)
		}
		call.act = &act{entry: audit.Entry{
			Operation: call.operation.id,
			Subjects:  subjectsOf(c),
			Address:   c.RealIP(),
			Request:   call.requestID,
		}}
		c.Response().Before(func() { s.endAct(c, call) })
		return next(c)
	}
}

// begin is around the handler of an administrative act. It begins the act in the log,
// and refuses it where that can't be done.
//
// A crash behind it leaves the entry without an outcome: whether the act was done is
// unknown, which is what that says.
func (s *server) begin(handle StrictHandlerFunc, _ string) StrictHandlerFunc {
	return func(c echo.Context, request any) (response any, err error) {
		ctx := c.Request().Context()
		call := callOf(ctx)
		if call.act == nil {
			return handle(c, request)
		}
		act := call.act
		act.knows(call.scope)
		if err := s.auditLog.Admit(call.scope.Tenant); err != nil {
			return nil, err
		}
		once := hourlyActOf(call)
		if call.operation.hourly && s.hourlyActs.has(once, time.Now()) {
			return handle(c, request)
		}
		state := s.stateOf(call)
		act.entry.Before = state.digest(ctx)

		begun := act.entry
		begun.Outcome = audit.Begun
		if act.began, err = s.auditLog.Append(ctx, begun); err != nil {
			return nil, domain.Unavailable("audit_unavailable", "The act can't be written to the audit log, and so it isn't done. Try again.").Because(err)
		}
		response, err = handle(c, request)
		if err == nil {
			if call.operation.hourly {
				s.hourlyActs.add(once, time.Now())
			}
			if act.entry.After = state.digest(ctx); state == nil {
				act.told(response)
			}
		}
		return response, err
	}
}

// knows takes down who acts, and whom it concerns: the tenant of a tenant's own
// program, and else the one of the path, if an operator names it there.
func (a *act) knows(who tenancy.Scope) {
	if who.Principal.IsZero() {
		return
	}
	a.entry.Actor = &audit.Actor{Tenant: who.Tenant, Principal: who.Principal, Name: who.Name, Key: who.Key}
	a.entry.Tenant = who.Tenant
	if who.IsOperator() {
		_ = a.entry.Tenant.UnmarshalText([]byte(a.entry.Subjects["tenant_id"])) // leaves it alone when it fails
	}
}

// endAct writes how the act ended. What can't be written leaves an act that was begun
// and has no outcome, and the caller learns the truth all the same.
func (s *server) endAct(c echo.Context, call *call) {
	act := call.act
	if act.ended {
		return
	}
	act.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), auditTimeout)
	defer cancel()

	e := act.entry
	e.Status, e.Code = c.Response().Status, call.code
	e.Outcome = outcomeOf(e.Status)
	var err error
	switch {
	case act.began > 0:
		e.Act = act.began
		if _, err = s.auditLog.Append(ctx, e); err == nil {
			return
		}
	case e.Outcome != audit.Refused:
		return // nothing was done, and nobody was refused; or this hour has its entries
	default:
		act.knows(call.scope)
		e.Actor, e.Tenant = act.entry.Actor, act.entry.Tenant
		if err = s.auditRefusals.Note(ctx, e); err == nil {
			return
		}
	}
	s.log.ErrorContext(ctx, "the outcome of an administrative act is not in the audit log", "operation", e.Operation, "outcome", string(e.Outcome), "error", err)
}

func outcomeOf(status int) audit.Outcome {
	switch {
	case status < http.StatusBadRequest:
		return audit.Done
	case status < http.StatusInternalServerError:
		return audit.Refused
	default:
		return audit.Failed
	}
}

// cutText cuts a text to what an entry may repeat of it.
func cutText(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// subjectsOf are the values of the path, by the names of its parameters.
func subjectsOf(c echo.Context) map[string]string {
	subjects := make(map[string]string, len(c.ParamNames()))
	for i, name := range c.ParamNames() {
		value := c.ParamValues()[i]
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		subjects[name] = cutText(value, maxSubject)
	}
	return subjects
}
