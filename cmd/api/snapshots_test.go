package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// download gets a part as whoever has its URL does, and verifies it.
func download(t *testing.T, part holdfast.SnapshotPart) []byte {
	t.Helper()
	response, err := http.Get(part.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s, %v", response.Status, err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != part.Digest || int64(len(text)) != part.Length {
		t.Fatalf("%d bytes of %x, want %+v", len(text), sum, part)
	}
	return text
}

// A snapshot from the request to the download: what its lines come to is what the
// collection had. The worker's span links to the request.
func TestSnapshot_FromTheRequestToTheDownload(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		client := connect(t, k.api, k.owner.key)
		want := map[string]string{}
		for i := range 5 {
			key, body := fmt.Sprint("item/", i), bytes.Repeat([]byte{0, byte(i), 0xff}, 1000)
			_, err := client.PutRecordWithResponse(t.Context(), "orders", key, &holdfast.PutRecordParams{IfNoneMatch: ptr("*")},
				holdfast.Publication{OperationID: key, Sections: &holdfast.Sections{"items": {Body: body}}})
			if err != nil {
				t.Fatal(err)
			}
			want[key] = string(body)
		}
		asked, err := client.RequestSnapshotWithResponse(t.Context(), "orders", &holdfast.RequestSnapshotParams{IdempotencyKey: ptr("one")})
		if err != nil || asked.JSON202.State != holdfast.SnapshotRunning {
			t.Fatalf("%v, %v", asked, err)
		}
		k.workSweeps(t)
		var page *holdfast.SnapshotPage
		eventually(t, "the snapshot is complete", func() bool {
			got, err := client.GetSnapshotWithResponse(t.Context(), "orders", asked.JSON202.SnapshotID, nil)
			if err != nil {
				t.Fatal(err)
			}
			page = got.JSON200
			return page.Snapshot.State == holdfast.SnapshotComplete
		})
		if *page.Snapshot.ExportSequence != 5 || page.Snapshot.PartCount != len(page.Parts) || page.NextCursor != nil {
			t.Errorf("the page is %+v", page)
		}
		got := map[string]string{}
		for _, part := range page.Parts {
			lines := bufio.NewScanner(bytes.NewReader(download(t, part)))
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var line struct {
					Key, Section string
					Body         []byte
				}
				if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Section != "items" {
					t.Fatalf("%s: %v", lines.Text(), err)
				}
				got[line.Key] = string(line.Body)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the snapshot (-want +got):\n%s", diff)
		}
		again, err := client.RequestSnapshotWithResponse(t.Context(), "orders", &holdfast.RequestSnapshotParams{IdempotencyKey: ptr("one")})
		if err != nil || again.HTTPResponse.Header.Get("Idempotent-Replayed") != "true" || again.JSON202.State != holdfast.SnapshotComplete {
			t.Errorf("asked for again: %+v, %v", again, err)
		}
		list, err := client.ListSnapshotsWithResponse(t.Context(), "orders")
		if err != nil || len(list.JSON200.Snapshots) != 1 {
			t.Errorf("listed: %+v, %v", list, err)
		}

		if _, err := k.operator(t, k.api).SuspendTenantWithResponse(t.Context(), k.owner.id); err != nil {
			t.Fatal(err)
		}
		if refused := k.ask(t, "GET", "/snapshots/"+asked.JSON202.SnapshotID, ""); refused.status != http.StatusForbidden {
			t.Errorf("a suspended tenant gets %d %s", refused.status, refused.body)
		}
	})
}
