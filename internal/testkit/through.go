package testkit

import (
	"net/url"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Proxied is an installation whose roles connect through proxies, one a
// database. The superuser doesn't, and so sees what a process that was cut off
// has left.
type Proxied struct {
	*Installation
	proxies map[string]*Proxy
}

// Through puts proxies in front of the installation's databases, until the test
// ends.
func (in *Installation) Through(t testing.TB) *Proxied {
	t.Helper()
	p := &Proxied{Installation: in, proxies: map[string]*Proxy{"control": startProxy(t, in.server.admin.Host)}}
	for _, location := range in.Settings(postgres.RoleAPI).Data {
		p.proxies[location.Name] = startProxy(t, hostOf(location.URL))
	}
	return p
}

// Proxy is the one in front of a database ("control", "data1", …).
func (in *Proxied) Proxy(name string) *Proxy { return in.proxies[name] }

// Settings connect as one of the fixed roles, through the proxies.
func (in *Proxied) Settings(role string) postgres.Settings {
	s := in.Installation.Settings(role)
	s.Control = in.proxies["control"].inFrontOf(s.Control)
	for i, location := range s.Data {
		s.Data[i].URL = in.proxies[location.Name].inFrontOf(location.URL)
	}
	return s
}

// Router connects as one of the fixed roles, through the proxies, until the test
// ends.
func (in *Proxied) Router(t testing.TB, role string) *postgres.Router {
	t.Helper()
	return openRouter(t, in.Settings(role))
}

func (p *Proxy) inFrontOf(database string) string { return at(p.Address(), database) }

// at is a database's URL at another address.
func at(address, database string) string {
	u := parsed(database)
	u.Host = address
	return u.String()
}

func hostOf(database string) string { return parsed(database).Host }

func parsed(database string) *url.URL {
	u, err := url.Parse(database)
	if err != nil {
		panic(err) // the test's own URL
	}
	return u
}
