import { deployment, documents, tuning } from './setting-row.ts';
import { modelName, oneOf, perModel, wholeNumber, yesOrNo } from './value.ts';

/** Tools and images. */
export const TOOL_SETTINGS = {
  PROXY_TOOL_TRANSPORT: deployment({
    at: 'api.toolTransport',
    type: perModel(['native', 'prose']),
    default: 'native',
    description:
      "How the model learns about a client's tools: declared (`native`), or described in a developer message (`prose`) for models without function calling. Patterns match the backend's model names; the first match counts, and other models are `native`. Tools that the backend runs itself are always declared.",
  }),
  PROXY_RESPONSES_OMIT_TOOL_MANIFEST: documents({
    at: 'api.omitToolManifest',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether the tools of `/v1/responses` requests are withheld from the backend, for a model that must not call any. `tools` is then listed as ignored. It has no effect with the `prose` transport, where the definitions are only in the developer message.',
  }),
  PROXY_ENABLE_PARALLEL_TOOL_CALLS: documents({
    at: 'tools.parallelCalls',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether an answer may contain several calls. `false`: at most one, as if every request had `parallel_tool_calls: false`.',
  }),
  PROXY_TOOL_REPAIR_ATTEMPTS: tuning({
    at: 'tools.repairAttempts',
    type: wholeNumber(0, 10, 'attempts'),
    default: '1',
    description:
      "How often the model tries again after it called a `strict` function with arguments that violate the function's schema. The client sees the last attempt. 0: arguments are not checked.",
  }),
  PROXY_TOOL_REPAIR_STREAMS: tuning({
    at: 'tools.repairStreams',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether arguments are also checked in streams. Calls of `strict` functions are then sent only when they are complete.',
  }),
  PROXY_IMAGE_URLS: deployment({
    at: 'images.urls',
    type: oneOf(['auto', 'fetch']),
    default: 'auto',
    description:
      'Who fetches images given by URL. `auto`: a provider gets the URL unchanged; for a ChatGPT login, and without the relay, this server fetches the image. `fetch`: this server always fetches, for a provider that cannot.',
  }),
  PROXY_IMAGE_FETCH: deployment({
    at: 'images.fetchEnabled',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether this server may fetch images by URL. `false`: such an image gets 400 `invalid_image`.',
  }),
  PROXY_IMAGE_FETCH_PRIVATE: deployment({
    at: 'images.fetchPrivate',
    type: yesOrNo,
    default: 'false',
    description: 'Whether such a URL may lead to a private, loopback or link-local address.',
  }),
  PROXY_IMAGE_MODEL: deployment({
    at: 'images.chatModel',
    type: modelName,
    default: 'codex-5',
    description:
      'The chat model that runs the image tool for `/v1/images/…`, as named in `/v1/models`. It runs at effort `low` unless the name contains an effort.',
  }),
};
