package manage

import (
	"net/http"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
)

// readBlocks serves GET /api/account/blocks.
func (a *API) readBlocks(c *httpapi.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	blocks, err := a.deps.Blocks.Blocks(c.Request.Context(), caller.ID)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, blocks)
}

// putBlocks serves PUT /api/account/blocks: what is left out is blocked no more.
func (a *API) putBlocks(c *httpapi.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in struct {
		Advertisers []string `json:"advertisers"`
		Domains     []string `json:"domains"`
		Categories  []string `json:"categories"`
		Words       []string `json:"words"`
	}
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	blocks := account.Blocks{Domains: in.Domains, Categories: in.Categories, Words: in.Words}
	for _, text := range in.Advertisers {
		id, err := httpapi.ParseID("advertisers", text)
		if err != nil {
			return err
		}
		blocks.Advertisers = append(blocks.Advertisers, id)
	}
	if err := blocks.Normalize(); err != nil {
		return err
	}
	if err := a.deps.Blocks.PutBlocks(c.Request.Context(), caller.ID, blocks); err != nil {
		return err
	}
	a.deps.Auth.ForgetKeys(caller)
	return httpapi.JSON(c, http.StatusOK, blocks)
}
