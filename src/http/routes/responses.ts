import { arrange, type LayoutOptions } from '../../openai/responses/layout.ts';
import { projectReply, type ResponseMeta } from '../../openai/responses/project.ts';
import { renderResponse } from '../../openai/responses/render.ts';
import { toTurnRequest } from '../../openai/responses/to-turn.ts';
import { invalidChoice } from '../../openai/validation.ts';
import type { Endpoint } from '../endpoint.ts';

export interface ResponsesOptions {
  readonly layout: LayoutOptions['layout'];
  readonly usagePolicy: ResponseMeta['usagePolicy'];
  readonly ignoreClientPrompt: boolean;
}

const LAYOUT_HEADER = 'x-proxy-output-layout';
const LAYOUTS = ['message-first', 'natural'] as const;

export const responsesEndpoint = (options: ResponsesOptions): Endpoint => ({
  path: '/v1/responses',
  read(body, { headers, ambient, models }) {
    const layout = chooseLayout(headers, options.layout);
    const { wire, request, ignored } = toTurnRequest(body, {
      models,
      ignoreClientPrompt: options.ignoreClientPrompt,
    });
    const includeEncryptedReasoning = wire.include?.includes('reasoning.encrypted_content') ?? false;
    const meta: ResponseMeta = {
      id: ambient.ids.mint('resp'),
      createdAt: Math.floor(ambient.clock.now() / 1000),
      wire,
      tools: request.tools,
      effort: request.reasoning.effort,
      includeEncryptedReasoning,
      usagePolicy: options.usagePolicy,
    };
    const showReasoning = includeEncryptedReasoning || request.reasoning.summary !== null;
    return {
      request,
      choices: 1,
      insists: [],
      model: wire.model,
      stream: wire.stream ?? false,
      ignored,
      formatPlace: 'text.format.schema',
      arrange: (events) => arrange(events, { layout, showReasoning, ids: ambient.ids }),
      render: ([events]) => renderResponse(events, meta, ambient.clock),
      project: ([reply]) => projectReply(reply, meta, Math.floor(ambient.clock.now() / 1000)),
    };
  },
});

/** A header decides; codex's own clients get the model's own order; else the deployment does. */
const chooseLayout = (headers: Headers, standard: LayoutOptions['layout']): LayoutOptions['layout'] => {
  const asked = headers.get(LAYOUT_HEADER);
  if (asked !== null) {
    const layout = LAYOUTS.find((one) => one === asked);
    if (layout === undefined) throw invalidChoice(LAYOUT_HEADER, asked, LAYOUTS);
    return layout;
  }
  return headers.get('originator')?.startsWith('codex_') === true ? 'natural' : standard;
};
