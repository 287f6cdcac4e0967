/** Request bodies. */
const BODIES: readonly string[] = [
  '## Bodies of requests',
  '',
  'A body may have one `content-encoding`: `zstd`, `gzip` (`x-gzip`), `br` or `deflate`; another one, or several, are a 400. `PROXY_MAX_BODY_BYTES`',
  'counts what it becomes. One that is cut off or broken is a 400 `invalid_json`.',
  '',
];

/** CORS. */
const PAGES: readonly string[] = [
  '## Pages in a browser',
  '',
  '[Pages that may call this server](security.md#pages-in-a-browser) may send any header, and read every answer, also errors, with',
  'the headers that begin with `x-`, `openai-` and `retry-after`, and `request-id`.',
  '',
];

/** The members of a listed model besides OpenAI's `id`, `object`, `created` and `owned_by`. */
const MODELS: readonly string[] = [
  '## Models',
  '',
  'The list is that of the ChatGPT account (asked at the start and every hour), or of the provider (`GET /models`,',
  "asked at the start and every six hours), and codex's own where those do not answer, for an API key login, and for",
  'the demo model. Besides the four members of OpenAI, a model has these if they are known:',
  '',
  '`alias_of`, `display_name`, `context_window`, `max_context_window`, `max_output_tokens`, `input_modalities`, `reasoning_efforts`, `default_reasoning_effort` (for an alias, what it asks for), `service_tiers` besides the default, and for an alias `default_service_tier`.',
  '',
  '| name | meaning |',
  '|---|---|',
  '| `codex-5` | the default model: the first by the order of the backend; of a provider, the best that codex knows, else the first that answers in words |',
  '| `<model>-<effort>` | with that `reasoning.effort`, unless the request names one |',
  '| `<model>-fast` | with `service_tier: priority`, unless the request names one |',
  '| `<model>-<effort>-fast` | both; not shown in the list |',
  '| `<model>-codev-l`, `-m`, `-h`, `-xh` | with effort `low`, `medium`, `high`, `xhigh`, for any model, also one that is not listed; `<model>-codev` is the model itself. Not shown in the list |',
  '| a name of `PROXY_MODEL_ALIASES` | the configured target: any name of this table, a model of the backend, or another such name. It takes precedence over a model of the same name, also before `-codev` |',
  '',
  'Any other name goes to the backend as it is. An answer says the name that was asked for.',
  '',
  "Clients of Anthropic's API (requests with the header `anthropic-version`, or with `x-api-key` and no `authorization`) get the list in its form (`limit`, `after_id`, `before_id`).",
  '`max_input_tokens` is `max_context_window`, or else `context_window`; `capabilities` says what the model can do through this server, `false` or `null` where nothing is known. It also has `claude-<model>`',
  'for each model, because Claude Code shows only names of Claude. In `/v1/messages` `claude-<name>` is any name of the table above, another name with `claude` and `haiku` the smallest model, and any other name with `claude` the default model.',
  '`PROXY_MODEL_ALIASES` and listed models take precedence, and `[1m]` at the end is left out. See [0027](decisions/0027-messages-and-other-apis.md).',
  '',
];

/** Deliberate differences from OpenAI's answers. */
const LAYOUT: readonly string[] = [
  '## Order of the output',
  '',
  'An answer of `/v1/responses` has one of two layouts. The request header `x-proxy-output-layout` chooses it, else',
  '`PROXY_RESPONSES_LAYOUT`. Another value of the header is a 400. In both, `output_index` is the index in the final `output`.',
  '',
  "- **`natural`**, the default: the model's own items in its own order, as OpenAI answers. Reasoning items are shown also when they were not",
  '  asked for: `id`, `type`, `summary`, and `content` where the backend gives raw reasoning. `encrypted_content` needs `include`.',
  '- **`message-first`**: `output[0]` is always the message, and all text is in it, with a blank line between texts that the model wrote apart. Tool',
  '  call k is `output[1 + k]`. In a stream, all text events come first (index 0), then `response.output_text.done`, then the events of the',
  '  calls: they are held back until the model has finished, because it may write more. Reasoning is not shown; a request for it is named in',
  '  `x-proxy-ignored-params`. Where the model writes nothing, the message is empty and its id begins with `msg_empty_`.',
  '',
  'Without the header, codex itself and answers that may contain a compaction get `natural` whatever the setting is.',
  '',
  '## Item references',
  '',
  'An `item_reference` in `input` is replaced by the item of a stored response or conversation of the same key; so is reasoning that has an id and no',
  'content. Those of recent answers are found in memory (`PROXY_ITEM_MEMORY_MB`), also with `PROXY_STORE=off`. Empty assistant messages in',
  '`input`, and references to them, are left out. An unknown item is a 404. Items of a response with `store: false` cannot be referred to.',
  '',
];

/** Tool calls in text. */
const MODES: readonly string[] = [
  '## Output modes',
  '',
  '`openai-json` writes calls as OpenAI does. `obsidian-xml` is for clients that read calls in the text, as Obsidian Copilot did up to 3.1.5.',
  'For `/v1/responses` and `/v1/chat/completions` the request header `x-proxy-output-mode` chooses it; else the client, if',
  'it is Obsidian Copilot: `openai-json` where the request declares tools, `obsidian-xml` where it does not; else `PROXY_RESPONSES_OUTPUT_MODE` and',
  '`PROXY_OUTPUT_MODE`. An answer in `obsidian-xml`, or to a request with the header, has the header too.',
  '',
  'In `obsidian-xml`, with declared tools, each call is written into the text, as a block at the end of the message before it, and then as a normal call; in',
  'Chat the first one also as `function_call`:',
  '',
  '```xml',
  '<use_tool>',
  '<name>localSearch</name>',
  '<query>tea</query>',
  '<salientTerms>["tea"]</salientTerms>',
  '</use_tool>',
  '```',
  '',
  'Nothing is escaped in a block; lists and objects are JSON, numbers and booleans are their text. A call that would be read as another one, or has more than 1 MB of arguments, has no block: it is sent as a',
  'normal call only, and counted in `proxy_xml_calls_native_only_total` with its reason. Calls are sent when they are complete, after the text.',
  '',
  'Without declared tools the text of the model passes as it is. If its conversation tells it to write blocks (`<use_tool>` or',
  '`# Autonomous Agent Mode` is in a message) and the request has the header, the blocks in the text are calls, too.',
  'Settings such as `PROXY_STOP_AFTER_TOOLS` end such answers after their calls.',
  '',
];

/** Tool calls of clients, for every backend. */
const CALLS: readonly string[] = [
  '## Calls of tools',
  '',
  'A stream whose call `tool_choice` forces begins when the call does. Calls that the choice rules out are left out. Arguments are the text that the model wrote, byte for byte. Where a backend sends another value instead of text, they are that',
  'value as JSON; where it sends none, `{}`. A call without a `call_id` gets one ([0011](decisions/0011-limits-of-a-backend.md)).',
  '',
  'Arguments of functions with `strict: true` are checked against their schema (but for `pattern`). In a JSON answer the model corrects what',
  'is wrong before the client sees it, `PROXY_TOOL_REPAIR_ATTEMPTS` times; `usage` is that of all attempts. Streams are checked only with',
  '`PROXY_TOOL_REPAIR_STREAMS=true`: then everything from the first call on comes when the answer is whole, and reasoning when it is known',
  'what it led to. Text before a call is sent at once; if the call was wrong, what the model says next follows it.',
  '',
];

/** Requests answered by another turn than the requested one. */
const NAMES: readonly string[] = [
  '## Names of conversations',
  '',
  'Obsidian Copilot and opencode ask for the name of a conversation in requests of their own. `/v1/responses` and `/v1/chat/completions` recognise them',
  'by the headers of the client **and** by the whole prompt: how it begins, how it ends, how long it is.',
  '',
  'A request with tools, `n` above 1, log probabilities or a JSON schema is never one. They are answered by `PROXY_TITLE_MODEL` with effort `low`, whatever model they name; the header `x-proxy-served-model` names',
  'the model that answered, if it is another one. Without `PROXY_TITLE_MODEL` it is the smallest model of the list: the one whose name has the smallest of the words nano, tiny, micro, mini, lite, small, spark, flash,',
  'haiku, luna; else the one with the fewest billions (`8b`); else the last. Images and files are not looked at, and are named in `x-proxy-ignored-params`.',
  '',
  'If that turn fails, takes more than 20 seconds (in a stream 80 % of `PROXY_SSE_KEEPALIVE_MS`, if that is less), or says something else, the turn that was asked for is run as usual. `PROXY_TITLE_INTERCEPT=false`',
  'leaves all requests alone. Numbers: `proxy_side_requests_total`.',
  '',
];

/** What the page about the HTTP API says after its routes. */
export const HTTP_NOTES: readonly string[] = [
  ...BODIES,
  ...PAGES,
  ...MODELS,
  ...LAYOUT,
  ...CALLS,
  ...MODES,
  ...NAMES,
];
