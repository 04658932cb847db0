package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// allowHead adds HEAD to Allow beside GET, as which it is served (RFC 9110,
// section 10.2.1). The router, which lists the methods for 405 and for OPTIONS,
// has never heard of it.
func allowHead(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		methods, listed := c.Get(echo.ContextKeyHeaderAllow).(string)
		if listed && slices.Contains(strings.Split(methods, ", "), http.MethodGet) {
			response := c.Response()
			response.Before(func() { response.Header().Set(echo.HeaderAllow, methods+", "+http.MethodHead) })
		}
		return next(c)
	}
}
