import { isDeepStrictEqual } from 'node:util';

import { failureOf } from '../../src/canonical/failure/failure.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { requestEdits } from '../../src/codex/relay/request/edits.ts';
import { OTHER_HISTORY } from '../../src/codex/translate/fit-history.ts';
import { injectedOf } from '../../src/codex/translate/inject-items.ts';
import { relayDraft } from '../../src/engine/drivers/relay/driver.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import { parameterName, type ParameterNames } from '../../src/apis/parameters.ts';
import { body as modelRequest, everything, first, PROVIDER, SESSION, SHAPE } from './edited.ts';
import { NO_MCP } from '../../src/engine/mcp/mcp-tools.ts';
import { turnContext } from './turn-request.ts';
import { threadSettings } from './thread-settings.ts';

/** A request as an API reads it. */
interface Read {
  readonly request: TurnRequest;
  readonly names: ParameterNames;
  readonly ignored: readonly string[];
}

/** What a provider gets for a request, and what is reported as ignored; or why the request is rejected. */
export type Sent =
  | { readonly kind: 'sent'; readonly body: JsonObject; readonly ignored: readonly string[] }
  | { readonly kind: 'refused'; readonly param: string | null; readonly message: string };

export const sentFor = (read: () => Read): Sent => {
  try {
    const { request, names, ignored } = read();
    const strategy = { ...SHAPE.strategy, slug: request.model };
    const drafted = relayDraft(
      { profile: PROVIDER, refusedFor: () => new Set() },
      {
        historyRules: OTHER_HISTORY,
        effortsOf: () => null,
        settings: { knows: () => true },
        mcp: NO_MCP,
      },
    );
    const draft = drafted({ request, context: turnContext() }, strategy);
    const [refused] = draft.refused;
    if (refused !== undefined) {
      return { kind: 'refused', param: parameterName(refused.path, names), message: refused.why };
    }
    const injected = injectedOf(draft.request, threadSettings(), strategy);
    const { model } = request;
    const edits = requestEdits(
      draft.request,
      { ...SHAPE, strategy, injected },
      { ...SESSION, slug: model, model, cacheKey: request.cache.key ?? SESSION.cacheKey },
      everything,
    );
    return {
      kind: 'sent',
      body: edits.apply({ ...modelRequest, model, text: {}, input: [], tools: [] }, first),
      ignored: [...ignored, ...[...draft.unsaid, ...draft.leftOut].map((path) => parameterName(path, names))],
    };
  } catch (error) {
    const { kind, param, message } = failureOf(error);
    if (kind === 'server_error') throw error;
    return { kind: 'refused', param, message };
  }
};

/** Whether a value is contained in another one unchanged. */
export const holds = (whole: Json | undefined, part: Json): boolean => {
  if (isDeepStrictEqual(whole, part)) return true;
  if (Array.isArray(whole)) return (whole as readonly Json[]).some((one) => holds(one, part));
  return isJsonObject(whole) && Object.values(whole).some((one) => holds(one, part));
};
