package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
)

// document is the API's description as JSON, made once. It is its own response:
// the generated one would spell bytes in base64.
type document []byte

func published(doc *openapi3.T) (document, error) {
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("the API's description: %w", err)
	}
	return text, nil
}

// GetOpenapi serves GET /openapi.json.
func (s *server) GetOpenapi(context.Context, GetOpenapiRequestObject) (GetOpenapiResponseObject, error) {
	return s.document, nil
}

// VisitGetOpenapiResponse writes the document.
func (d document) VisitGetOpenapiResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", mediaJSON)
	_, err := w.Write(d)
	return err
}
