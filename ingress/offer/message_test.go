package offer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/errs"
)

func TestMessagesOfOtherProtocolsAreRead(t *testing.T) {
	for in, want := range map[string]offer.Message{
		`{"role":"user","content":"a","name":"x","refusal":null}`:       {Role: "user", Content: "a"},
		`{"role":"assistant","content":null,"tool_calls":[{"id":"1"}]}`: {Role: "assistant"},
		`{"role":"assistant"}`:                                   {Role: "assistant"},
		`{"role":"user","content":[]}`:                           {Role: "user"},
		`{"role":"user","content":[{"type":"text","text":"a"}]}`: {Role: "user", Content: "a"},
		`{"role":"developer","content":[{"type":"input_text","text":"a"},{"type":"output_text","text":"b"}]}`: {
			Role: "system", Content: "a\nb",
		},
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}},{"type":"text","text":"a"},null,"b"]}`: {
			Role: "user", Content: "a\nb",
		},
		`{"role":"user","content":[{"type":"input_image","text":"no"}]}`: {Role: "user"},
		`{"role":"assistant","content":[{"type":"text","text":{"value":"a","annotations":[]}}]}`: {
			Role: "assistant", Content: "a",
		},
		`{"role":"user","content":{"type":"text","text":"a"}}`:        {Role: "user", Content: "a"},
		`{"role":"model","parts":[{"text":"a"},{"functionCall":{}}]}`: {Role: "assistant", Content: "a"},
		`{"role":"model","parts":[{"text":"no","thought":true},{"text":"a"}]}`: {
			Role: "assistant", Content: "a",
		},
		`{"parts":[{"inlineData":{"data":"x"}},{"text":"a"}]}`:               {Role: "user", Content: "a"},
		`{"parts":{"text":"a"}}`:                                             {Role: "user", Content: "a"},
		`{"role":"user","content":"a","parts":[{"type":"text","text":"a"}]}`: {Role: "user", Content: "a"},
		`{"role":"function","name":"f","content":"a"}`:                       {Role: "tool", Content: "a"},
		`{"type":"message","role":"user","content":"a"}`:                     {Role: "user", Content: "a"},
		`{"type":"function_call_output","call_id":"1","output":"a"}`:         {Role: "tool", Content: "a"},
		`{"type":"function_call","name":"f","arguments":"{}"}`:               {Role: "system"},
		`{"type":"reasoning","summary":[]}`:                                  {Role: "system"},
		`{"role":"user","content":[{"type":"text","text":"cut \ud83d"}]}`:    {Role: "user", Content: "cut \ufffd"},
	} {
		var r offer.Request
		require.NoError(t, httpapi.UnmarshalLoose([]byte(`{"messages":[`+in+`]}`), &r), in)
		require.NoError(t, r.Check(), in)
		require.Equal(t, []offer.Message{want}, r.Messages, in)
	}
	for list, want := range map[string]int{
		`[null,{"role":"user","content":"a"},null]`: 1, `{"role":"user","content":"a"}`: 1, `{}`: 0,
		`{"0":{"role":"user","content":"a"},"2":{"role":"model","parts":[]}}`: 2,
		`"[{\"role\":\"user\",\"content\":\"a\"}]"`:                           1,
	} {
		r := offer.Request{}
		require.NoError(t, httpapi.UnmarshalLoose([]byte(`{"context":"x","messages":`+list+`}`), &r), list)
		require.NoError(t, r.Check(), list)
		require.Len(t, r.Messages, want, list)
	}
}

func TestMessagesThatCannotBeReadAreRejected(t *testing.T) {
	for messages, want := range map[string]string{
		`[{"role":"user","content":5}]`:       `messages must have as content a text like "hello" or a list of parts`,
		`[{"role":"user","content":true}]`:    "not true or false",
		`[{"role":"user","content":[5]}]`:     "not a list",
		`[{"role":"narrator","content":"a"}]`: "a role that is none of",
		`[{"content":"a"}]`:                   "a role that is none of",
		`[{"role":{},"content":"a"}]`:         `field messages.0.role must be a text like "abc", not an object`,
		`[5]`:                                 "not a number",
		`["a"]`:                               "not a text",
		`"hello"`:                             "not a text",
		`[{"role":"user","content":"a","content":""}]`: "a field occurs twice",
	} {
		var r offer.Request
		err := httpapi.UnmarshalLoose([]byte(`{"messages":`+messages+`}`), &r)
		if err == nil {
			err = r.Check()
		}
		require.True(t, errs.Is(err, errs.InvalidRequest), messages)
		require.Contains(t, errs.Of(err).Message, want, messages)
	}
}
