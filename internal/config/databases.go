package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// onlyDatabase is the name of the data database when none is named.
const onlyDatabase = "main"

var dataName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,30}$`)

func (l *loader) databases(v variables) (control string, data []postgres.Location, placement postgres.Placement) {
	control = v.ControlURL
	if control == "" {
		l.problem("HOLDFAST_CONTROL_URL", "is required: the control database, postgres://HOST:PORT/NAME")
	} else if err := checkURL(control); err != nil {
		l.problem("HOLDFAST_CONTROL_URL", "%v", err)
	}
	data = []postgres.Location{{Name: onlyDatabase, URL: control}}
	if v.DataURLs != "" {
		data = l.dataURLs(v.DataURLs)
	}
	return control, data, l.placement(v.Placement, data)
}

func (l *loader) dataURLs(text string) []postgres.Location {
	const variable = "HOLDFAST_DATA_URLS"
	var locations []postgres.Location
	byName, byPlace := map[string]bool{}, map[string]string{}
	for i, entry := range strings.Fields(text) {
		name, address, ok := strings.Cut(entry, "=")
		if !ok || !dataName.MatchString(name) {
			// The entry isn't shown: what stands before a "=" may be part of a URL.
			l.problem(variable, "entry %d is not NAME=URL, with a name of lower-case letters, digits, - and _", i+1)
			continue
		}
		if byName[name] {
			l.problem(variable, "%s is named twice", name)
		}
		byName[name] = true
		locations = append(locations, postgres.Location{Name: name, URL: address})
		if err := checkURL(address); err != nil {
			l.problem(variable, "%s %v", name, err)
			continue
		}
		if other := byPlace[place(address)]; other != "" {
			l.problem(variable, "%s and %s are the same database", other, name)
		}
		byPlace[place(address)] = name
	}
	if len(locations) == 0 {
		l.problem(variable, "names no database")
	}
	return locations
}

func (l *loader) placement(text string, data []postgres.Location) postgres.Placement {
	const variable = "HOLDFAST_PLACEMENT"
	var names []string
	for _, location := range data {
		names = append(names, location.Name)
	}
	switch {
	case len(names) == 0: // told already
		return postgres.Placement{}
	case text == "" && len(names) == 1:
		return postgres.PlaceAll(names[0])
	case text == "":
		l.problem(variable, "is required with several data databases: which of the numbers 0-63 lives on which of %s",
			strings.Join(names, ", "))
		return postgres.Placement{}
	}
	placement, err := postgres.ParsePlacement(text, names)
	if err != nil {
		l.problem(variable, "%v", err)
	}
	return placement
}

// checkURL accepts the URL of a database without a user. Its error doesn't
// repeat the URL, which may hold a password in spite of that.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return errors.New("is not of the form postgres://HOST:PORT/NAME")
	}
	if query := u.Query(); u.User != nil || query.Has("user") || query.Has("password") {
		return errors.New("must name no user and no password: the roles are fixed, and their passwords have variables of their own")
	}
	if _, err := pgx.ParseConfig(text); err != nil {
		return errors.New("has parameters that can't be used: a wrong sslmode, say, or a certificate's file that can't be read")
	}
	return nil
}

// place is where a URL leads, whatever its parameters.
func place(text string) string {
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s:%d/%s", strings.ToLower(config.Host), config.Port, config.Database)
}

func (l *loader) pooler(text string) bool {
	switch {
	case text == "none":
		return false
	case text != "transaction":
		l.problem("HOLDFAST_POOLER", "%q is not one of none, transaction", text)
	case l.process == Schema:
		l.problem("HOLDFAST_POOLER", "the schema needs direct connections: its lock is a session's, which a pooler shares. "+
			"Give the databases' own URLs, and no pooler")
	}
	return true
}
