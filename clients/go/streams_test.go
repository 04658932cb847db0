package holdfast

import (
	"reflect"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/holdfast-dev/holdfast/web"
)

// A generated call reads its answer whole, and takes it for one JSON value. So
// there must be none for an operation that answers in lines or events, unless it does so only
// when it is asked to, which a generated call never does.
func TestGenerated_HasNoCallThatWouldReadAStreamWhole(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(web.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	var streams []string
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			ok := op.Responses.Value("200")
			if ok == nil || ok.Value.Content["application/json"] != nil {
				continue
			}
			if op.OperationID == "exportTenant" { // it is read as it comes, by the operator's command line
				continue
			}
			if ok.Value.Content["application/x-ndjson"] != nil || ok.Value.Content["text/event-stream"] != nil {
				streams = append(streams, op.OperationID)
			}
		}
	}
	if len(streams) < 2 {
		t.Fatal("the document has no operations that answer in lines and events")
	}
	client := reflect.TypeFor[*ClientWithResponses]()
	for i := range client.NumMethod() {
		method := client.Method(i).Name
		for _, id := range streams {
			if strings.HasPrefix(strings.ToLower(method), strings.ToLower(id)) {
				t.Errorf("%s is generated", method)
			}
		}
	}
}
