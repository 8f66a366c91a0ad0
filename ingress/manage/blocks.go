package manage

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
	"adnet/internal/errs"
)

// readBlocks serves GET /api/account/blocks.
func (a *API) readBlocks(c *gin.Context) error {
	return a.ofCaller(
		c, func(ctx context.Context, user uuid.UUID) (any, error) { return a.deps.Blocks.Blocks(ctx, user) },
	)
}

// readPublishing serves GET /api/account/publishing.
func (a *API) readPublishing(c *gin.Context) error {
	return a.ofCaller(
		c, func(ctx context.Context, user uuid.UUID) (any, error) { return a.deps.Publish.Publishing(ctx, user) },
	)
}

// ofCaller replies with the result of read for the caller's account.
func (a *API) ofCaller(c *gin.Context, read func(ctx context.Context, user uuid.UUID) (any, error)) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	found, err := read(c.Request.Context(), caller.ID)
	if err != nil {
		return err
	}
	return httpapi.JSON(c, http.StatusOK, found)
}

// putBlocks serves PUT /api/account/blocks. It replaces all blocks.
func (a *API) putBlocks(c *gin.Context) error {
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
	for i, text := range in.Advertisers {
		id, err := httpapi.ParseID(fmt.Sprintf("advertisers[%d]", i), text)
		if err != nil {
			return errs.Of(err).At("advertisers", i)
		}
		blocks.Advertisers = append(blocks.Advertisers, id)
	}
	if err := blocks.Normalize(); err != nil {
		return err
	}
	if err := a.deps.Blocks.PutBlocks(c.Request.Context(), caller.ID, blocks); err != nil {
		return err
	}
	return a.onItsKeys(c, caller, blocks)
}

// putPublishing serves PUT /api/account/publishing. Omitted fields get their defaults.
func (a *API) putPublishing(c *gin.Context) error {
	caller, err := a.deps.Auth.User(c)
	if err != nil {
		return err
	}
	var in account.Publishing
	if err := httpapi.Decode(c, &in); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	if err := a.deps.Publish.PutPublishing(c.Request.Context(), caller.ID, in); err != nil {
		return err
	}
	return a.onItsKeys(c, caller, in)
}

// onItsKeys replies with a setting that is cached with the caller's keys.
func (a *API) onItsKeys(c *gin.Context, caller account.User, setting any) error {
	a.deps.Auth.ForgetKeys(caller)
	return httpapi.JSON(c, http.StatusOK, setting)
}
