import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';

import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import { createModelNames } from '../../../canonical/models/model-names.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import { encodeFrame, encodeFrameSteps, isHeavyFrame } from '../../../apis/sse.ts';
import { notFound, startLoopback } from '../../../codex/loopback.ts';
import { readModelBody } from '../../../codex/relay/request/model-body.ts';
import type { Ambient } from '../../../kit/ambient.ts';
import { runSliced } from '../../../kit/async/event-loop.ts';
import { joinSteps } from '../../../kit/json/json-writer.ts';
import { parseResponse, toTurnRequest } from '../../../openai/responses/input/to-turn.ts';
import type { ResponseMeta } from '../../../openai/responses/output/project.ts';
import { renderResponse } from '../../../openai/responses/output/render.ts';

/** Receives the model requests of the app-servers in which agents work. */
export interface AgentGateway {
  /** The base URL of their provider. It contains a secret. */
  readonly url: string;
  /** Model requests of this thread belong to this run, until the result is called. */
  expect(threadId: string, run: GatewayRun): () => void;
  close(): Promise<void>;
}

export interface GatewayRun {
  /** What codex reads as the answer; null: the run has ended. `left`: codex does not read it any more. */
  answer(request: TurnRequest, left: AbortSignal): AsyncIterable<TurnEvent> | null;
  /** A request of codex that cannot be read. */
  broken(error: unknown): void;
}

export interface GatewayOptions {
  readonly ambient: Ambient;
  /** Called for an unexpected exception; the request of codex was aborted. */
  readonly onBug: (error: unknown) => void;
}

const MAX_BODY_BYTES = 256 * 1024 * 1024;
const HEAVY_CHARS = 64 * 1024;

/** The names in requests of codex are those of its own threads: none is an alias. */
const NAMES = createModelNames({ models: [], standard: null, unlisted: [] });

export const openAgentGateway = async ({ ambient, onBug }: GatewayOptions): Promise<AgentGateway> => {
  const runs = new Map<string, GatewayRun>();

  const serveModel = async (run: GatewayRun, incoming: IncomingMessage, outgoing: ServerResponse) => {
    const left = leftSignal(outgoing);
    let asked: TurnRequest;
    try {
      asked = await readModelRequest(incoming, left);
    } catch (error) {
      outgoing.writeHead(400, { connection: 'close' }).end();
      if (!left.aborted) run.broken(error);
      return;
    }
    const events = run.answer(asked, left);
    if (events === null) {
      gone(outgoing);
      return;
    }
    const frames = renderResponse(events, metaOf(asked, ambient));
    outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    try {
      for await (const frame of frames) {
        const text = isHeavyFrame(frame, HEAVY_CHARS)
          ? (await runSliced(encodeFrameSteps(frame), left)).join('')
          : encodeFrame(frame);
        if (!outgoing.write(text)) await once(outgoing, 'drain', { signal: left });
      }
      outgoing.end();
    } catch {
      // The run knows why, and has ended.
      outgoing.destroy();
    }
  };

  const loopback = await startLoopback({
    async serve(path, incoming, outgoing) {
      if (incoming.method !== 'POST' || path !== 'responses') {
        notFound(outgoing);
        return;
      }
      const { 'thread-id': threadId, 'x-openai-subagent': subagent } = incoming.headers;
      const run = subagent === undefined ? runs.get(String(threadId)) : undefined;
      if (run === undefined) gone(outgoing);
      else await serveModel(run, incoming, outgoing);
    },
    onError(error, incoming) {
      // Otherwise codex has left while it was sending.
      if (incoming.complete) onBug(error);
    },
  });

  return {
    url: loopback.origin,
    expect(threadId, run) {
      runs.set(threadId, run);
      return () => {
        if (runs.get(threadId) === run) runs.delete(threadId);
      };
    },
    close: () => loopback.close(),
  };
};

/** No model is asked any more for this thread. */
const gone = (outgoing: ServerResponse): void => void outgoing.writeHead(410, { connection: 'close' }).end();

const readModelRequest = async (incoming: IncomingMessage, left: AbortSignal): Promise<TurnRequest> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error('the request of codex is too large');
    chunks.push(chunk);
  }
  const body = await readModelBody(await runSliced(joinSteps(chunks), left), left);
  return toTurnRequest(parseResponse(body), { models: NAMES, ignoreClientPrompt: false }).request;
};

/** codex reads only the items and the end. */
const metaOf = ({ model }: TurnRequest, { ids, clock }: Ambient): ResponseMeta => ({
  id: ids.mint('resp'),
  createdAt: Math.floor(clock.now() / 1000),
  usagePolicy: 'exact',
  echo: { model },
  tools: [],
  effort: null,
  serviceTier: null,
  includeEncryptedReasoning: false,
  isForCodex: true,
  isStored: false,
  isBackground: false,
  continues: null,
});

/** One for all, because an abort without a reason creates an error with a stack. */
const LEFT = new DOMException('codex has disconnected', 'AbortError');

const leftSignal = (outgoing: ServerResponse): AbortSignal => {
  const left = new AbortController();
  outgoing.on('close', () => {
    if (!outgoing.writableFinished) left.abort(LEFT);
  });
  return left.signal;
};
