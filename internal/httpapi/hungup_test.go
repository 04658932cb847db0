package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A client that is interrupted is no fault of the service, and wakes nobody.
func TestConnection_AClientThatHangsUpIsNoFaultOfTheService(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.coordinator.entries = journalOf(1<<40, 100)
	server := a.listen(t, time.Minute)
	r, err := http.NewRequest("GET", server.URL+journalPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer tenant")
	r.Header.Set("Accept", mediaNDJSON)
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	response.Body.Close() // and with it the connection, of which not all is read
	server.Close()        // the request has ended then, and is logged
	log := a.log.String()
	if !strings.Contains(log, `"code":"client_gone"`) || strings.Contains(log, "ERROR") || strings.Contains(log, `"code":"internal"`) {
		t.Errorf("the log is %s", log)
	}
}
