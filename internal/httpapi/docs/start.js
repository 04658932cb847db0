"use strict";

// The page loads nothing but what its own server has: the description beside it, and
// no validator's badge. What somebody tries out goes to that server too.
const description = new URL("openapi.json", document.baseURI).href;

// Swagger UI shows scopes behind a lock only; here each operation says its own.
function withScopes(document) {
  for (const item of Object.values(document.paths)) {
    for (const operation of Object.values(item)) {
      if (!Array.isArray(operation.security)) continue; // no operation
      const scopes = operation.security.flatMap((demanded) => Object.values(demanded).flat());
      const needs = scopes.length === 0 ? "Public: it needs no token." : `Needs a token with the scope ${scopes.map((scope) => `\`${scope}\``).join(", ")}.`;
      operation.description = `${needs}\n\n${operation.description ?? ""}`;
    }
  }
  return document;
}

SwaggerUIBundle({
  url: description,
  dom_id: "#docs",
  validatorUrl: null,
  responseInterceptor: (response) => {
    if (response.url === description && response.ok) response.text = JSON.stringify(withScopes(JSON.parse(response.text)));
    return response;
  },
  deepLinking: true, // so that an operation has an address: #/accounts/createAccount
  docExpansion: "list",
  filter: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  displayRequestDuration: true,
  showExtensions: false,
  persistAuthorization: false, // what is typed in here goes with the page
});
