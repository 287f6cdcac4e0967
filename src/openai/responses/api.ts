import { gatewayError } from '../../canonical/failure/failure.ts';
import { asksForCompaction, withCompactionTrigger } from '../../canonical/request/compaction.ts';
import { isForced } from '../../canonical/request/tool.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { sideRequestOf } from '../clients/side-request.ts';
import { dialectOf, toApiDialect, type DialectSettings, separateMessages } from '../dialects/dialect.ts';
import { arrange, chooseLayout, type Layout } from './output/layout.ts';
import { projectReply, projectStarted, type ResponseMeta } from './output/project.ts';
import { renderResponse } from './output/render.ts';
import { parseCounted, parseResponse, toTurnRequest, type ParsedResponse } from './input/to-turn.ts';
import type { CreateResponse } from './input/parameters.ts';
import { invalidChoice } from '../../apis/validation.ts';
import type { Api } from '../../turns/api.ts';
import { openaiErrors } from '../shared/error-body.ts';
import { commonFields, type AnswerLimits } from '../../apis/common-fields.ts';
import { isJsonObject } from '../../kit/json/json.ts';
import { projectCompaction, type CompactionMeta } from './output/project-stored.ts';

interface ResponsesOptions extends AnswerLimits {
  readonly layout: Layout;
  readonly usagePolicy: ResponseMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
  /** Whether to hide the tools of a request from the model. */
  readonly omitsTools: (model: string) => boolean;
  readonly dialect: DialectSettings;
  /** Whether this server stores responses. */
  readonly stores: boolean;
}

export const RESPONSES_PATH = '/v1/responses';
const LAYOUT_HEADER = 'x-proxy-output-layout';
const LAYOUTS = ['message-first', 'natural'] as const;

/** The Responses API. */
export const responsesApi = (options: ResponsesOptions): Api<ParsedResponse, ResponseMeta> => ({
  path: RESPONSES_PATH,
  parse: (body, { generates = true }) => ({ ...parseResponse(body), mayBeEmpty: !generates }),
  toTurn(parsed, loaded, { headers, ambient, models, again }) {
    const requested = requestedLayout(headers);
    const read = toTurnRequest(parsed, {
      models,
      ignoreClientPrompt: options.ignoreClientPrompt,
      recall: options.stores ? (id) => loaded.items.get(id) ?? null : null,
      chain: loaded.chain,
    });
    const { parsed: fields, wantsReasoning } = read;
    const common = commonFields(read, headers, options);
    const { request, ignored, client } = common;
    const isForCodex = client.name === 'codex';
    const dialect = dialectOf({ headers, client, request, settings: options.dialect, ids: ambient.ids });
    // Obsidian Copilot concatenates the messages of an answer.
    const separate = client.name === 'obsidian-copilot' ? separateMessages : same;
    const layout = chooseLayout({
      requested,
      mayCompact: asksForCompaction(request) || request.contextManagement !== null,
      isCodex: isForCodex,
      configured: options.layout,
    });
    const { input: _, ...echoed } = fields;
    const usualEffort = models.find(request.model)?.info.defaultEffort ?? null;
    const meta: ResponseMeta = {
      id: again?.id ?? ambient.ids.mint('resp'),
      createdAt: again?.createdAt ?? Math.floor(ambient.clock.now() / 1000),
      echo: options.parallelCalls ? echoed : { ...echoed, parallel_tool_calls: false },
      tools: request.tools,
      effort: request.reasoning.effort ?? usualEffort,
      serviceTier: request.serviceTier,
      includeEncryptedReasoning: fields.include?.includes('reasoning.encrypted_content') ?? false,
      usagePolicy: options.usagePolicy,
      isForCodex,
      // OpenAI stores answers by default.
      isStored: options.stores && fields.store !== false,
      isBackground: readBackground(fields, options.stores),
      continues: parsed.continues,
    };
    const shown = { ids: ambient.ids, showCommentary: request.format.kind === 'text' };
    const kept = options.omitsTools(request.model) ? withoutTools(request) : { request, ignored: [] };
    return {
      ...common,
      id: meta.id,
      meta,
      metaFor: ({ effort }) => ({ ...meta, effort: effort ?? usualEffort }),
      dialect: toApiDialect(dialect, ambient.clock),
      request: kept.request,
      sideRequest: sideRequestOf(request, common.choices, client),
      // If a client requests both reasoning and a layout without it, the layout wins.
      ignored: [...ignored, ...kept.ignored, ...(layout === 'natural' ? [] : wantsReasoning)],
      formatPlace: read.formatPlace,
      keeps: {
        kind: 'response',
        id: meta.id,
        createdAt: meta.createdAt,
        isStored: meta.isStored,
        input: read.input,
        include: fields.include ?? [],
        queued: meta.isBackground ? projectStarted(meta, 'queued') : null,
      },
      arrange: (events) => separate(arrange(dialect.transform(events), layout, shown)),
    };
  },
  count: {
    path: `${RESPONSES_PATH}/input_tokens`,
    parse: parseCounted,
    project: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  errors: openaiErrors,
  render: (meta, [events]) => renderResponse(events, meta),
  project: (meta, [reply]) => projectReply(reply, meta),
});

/** Throws if the server has no store: a background response could not be retrieved. */
const readBackground = ({ background }: CreateResponse, stores: boolean): boolean => {
  if (background !== true) return false;
  if (stores) return true;
  throw gatewayError('unsupported_parameter', {
    param: 'background',
    message:
      "Unsupported parameter: 'background'. This server stores nothing (PROXY_STORE=off), so a background response could not be retrieved.",
  });
};

type Events = AsyncIterable<TurnEvent>;
const same = (events: Events): Events => events;

const withoutTools = (
  request: TurnRequest,
): { readonly request: TurnRequest; readonly ignored: readonly string[] } => ({
  request: { ...request, tools: [], toolChoice: { mode: 'auto' } },
  ignored: [
    ...(request.tools.length > 0 ? ['tools'] : []),
    ...(isForced(request.toolChoice) ? ['tool_choice'] : []),
  ],
});

const requestedLayout = (headers: Headers): Layout | null => {
  const requested = headers.get(LAYOUT_HEADER);
  if (requested === null) return null;
  const layout = LAYOUTS.find((one) => one === requested);
  if (layout === undefined) throw invalidChoice(LAYOUT_HEADER, requested, LAYOUTS);
  return layout;
};

/** Compaction: a Responses turn whose input ends with a trigger, and whose answer is a conversation. */
export const compactionApi = (options: ResponsesOptions): Api<ParsedResponse, CompactionMeta> => {
  const responses = responsesApi(options);
  return {
    path: `${responses.path}/compact`,
    parse(body, context) {
      rejectModes(body);
      return responses.parse(body, context);
    },
    toTurn(parsed, loaded, context) {
      // Its answer is the input of another conversation: it has no id to continue from.
      const { keeps: _, metaFor: __, ...read } = responses.toTurn(parsed, loaded, context);
      const { ids, clock } = context.ambient;
      return {
        ...read,
        request: withCompactionTrigger(read.request),
        // Never a side request: the requested model compacts the conversation.
        sideRequest: null,
        meta: {
          id: ids.mint('resp'),
          createdAt: Math.floor(clock.now() / 1000),
          usagePolicy: options.usagePolicy,
          items: read.request.items,
        },
      };
    },
    errors: responses.errors,
    render: () => {
      throw new Error('a compaction is not streamed');
    },
    project: (meta, [reply], ids) => projectCompaction(reply, meta, ids),
  };
};

const NEVER = { stream: 'streamed', background: 'made in the background' } as const;

/** The answer is neither a stream nor a response that can be retrieved. */
const rejectModes = (body: unknown): void => {
  if (!isJsonObject(body)) return;
  const param = (['stream', 'background'] as const).find((name) => body[name] === true);
  if (param === undefined) return;
  throw gatewayError('unsupported_parameter', {
    param,
    message: `Unsupported parameter: '${param}'. A compacted conversation is never ${NEVER[param]}.`,
  });
};
