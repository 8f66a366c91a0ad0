package manage

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
)

func (a *API) mountBlocks(s *httpapi.Server) {
	s.Handle(http.MethodGet, "/api/account/blocks", httpapi.Do(a.readBlocks), reads)
	s.Handle(http.MethodPut, "/api/account/blocks", httpapi.Do(a.putBlocks), changes)
	s.Handle(http.MethodGet, "/api/account/publishing", httpapi.Do(a.readPublishing), reads)
	s.Handle(http.MethodPut, "/api/account/publishing", httpapi.Do(a.putPublishing), changes)
}

// readBlocks serves GET /api/account/blocks.
func (a *API) readBlocks(c *gin.Context, caller account.User, _ httpapi.None) (account.Blocks, error) {
	return a.deps.Blocks.Blocks(c.Request.Context(), caller.ID)
}

// readPublishing serves GET /api/account/publishing.
func (a *API) readPublishing(c *gin.Context, caller account.User, _ httpapi.None) (account.Publishing, error) {
	return a.deps.Publish.Publishing(c.Request.Context(), caller.ID)
}

type blocksRequest struct {
	Advertisers []string `json:"advertisers"`
	Domains     []string `json:"domains"`
	Categories  []string `json:"categories"`
	Words       []string `json:"words"`
}

// putBlocks serves PUT /api/account/blocks. It replaces all blocks.
func (a *API) putBlocks(c *gin.Context, caller account.User, in blocksRequest) (account.Blocks, error) {
	blocks := account.Blocks{Domains: in.Domains, Categories: in.Categories, Words: in.Words}
	for i, text := range in.Advertisers {
		id, err := httpapi.ParseID(fmt.Sprintf("advertisers[%d]", i), text)
		if err != nil {
			return blocks, errs.Of(err).At("advertisers", i)
		}
		blocks.Advertisers = append(blocks.Advertisers, id)
	}
	if err := blocks.Normalize(); err != nil {
		return blocks, err
	}
	if err := a.deps.Blocks.PutBlocks(c.Request.Context(), caller.ID, blocks); err != nil {
		return blocks, err
	}
	a.deps.Auth.ForgetKeys(caller) // the blocks are cached with them
	return blocks, nil
}

// putPublishing serves PUT /api/account/publishing. Omitted fields get their defaults.
func (a *API) putPublishing(c *gin.Context, caller account.User, in account.Publishing) (account.Publishing, error) {
	if err := in.Check(); err != nil {
		return in, err
	}
	if err := a.deps.Publish.PutPublishing(c.Request.Context(), caller.ID, in); err != nil {
		return in, err
	}
	a.deps.Auth.ForgetKeys(caller) // the settings are cached with them
	return in, nil
}
