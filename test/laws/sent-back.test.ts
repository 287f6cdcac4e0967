import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fold, type Reply } from '../../src/canonical/events/accumulate.ts';
import {
  isMessage,
  isReasoning,
  isSummary,
  isToolCall,
  wordsOf,
  type Produced,
  type ToolCall,
} from '../../src/canonical/request/item.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import { CHATGPT_HISTORY, fitHistory, wholeHistory } from '../../src/codex/translate/fit-history.ts';
import { toInjectItems } from '../../src/codex/translate/inject-items.ts';
import { assertNever } from '../../src/kit/assert-never.ts';
import { arrangeChat } from '../../src/openai/chat/render.ts';
import { movedAnnotation } from '../../src/openai/shared/joined-text.ts';
import { projectChat } from '../../src/openai/chat/project.ts';
import { chatToTurn as readChat } from '../../src/openai/chat/to-turn.ts';
import { arrange, type Layout } from '../../src/openai/responses/output/layout.ts';
import { projectReply } from '../../src/openai/responses/output/project.ts';
import { parseResponse, toTurnRequest as readResponses } from '../../src/openai/responses/input/to-turn.ts';
import { modelList } from '../support/models.ts';
import { without } from './exact-differences.ts';
import { emit, fixedAmbient, turnEvents } from '../support/turn-events.ts';

/**
 * Law D: a client that sends an answer back as input gives the model its own output, in its order. In the layout
 * message-first all text is one message before the rest.
 * Empty messages are the exception: they are dropped.
 */
const OPTIONS = { models: createModelNames(modelList([])), ignoreClientPrompt: false };

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** The items between the first user message and the next: the answer that was sent back. */
const betweenUsers = ({ items }: TurnRequest) =>
  asJson(toInjectItems({ instructions: null, items }).slice(1, -1));

describe('an answer of the Responses API, sent back', () => {
  const layouts = fc.record({
    layout: fc.constantFrom<Layout[]>('message-first', 'natural'),
    encrypted: fc.boolean(),
  });
  type Choice = { readonly layout: Layout; readonly encrypted: boolean };

  /** What the app-server should get for an item of the model. */
  const expected = (item: Produced, encrypted: boolean): readonly unknown[] => {
    switch (item.kind) {
      case 'message': {
        const content = item.parts.flatMap((part) => {
          if (part.kind !== 'text' && part.kind !== 'refusal') return [];
          const cited = 'annotations' in part ? { annotations: part.annotations } : {};
          return [{ type: 'output_text', text: part.text, ...cited }];
        });
        if (content.every(({ text }) => text === '')) return [];
        const phase = item.phase === undefined ? {} : { phase: item.phase };
        return [{ type: 'message', id: item.id, role: 'assistant', content, ...phase }];
      }
      case 'reasoning':
        return [
          {
            type: 'reasoning',
            id: item.id,
            summary: item.summary.map((text) => ({ type: 'summary_text', text })),
            ...(item.content === undefined
              ? {}
              : { content: item.content.map((text) => ({ type: 'reasoning_text', text })) }),
            encrypted_content: encrypted ? (item.encryptedContent ?? null) : null,
          },
        ];
      case 'tool-call':
        return [{ id: item.id, ...calledAs(item) }];
      case 'hosted-call':
        return [
          {
            ...item.raw,
            id: item.id,
            ...(item.status === 'incomplete'
              ? { status: expect.stringMatching(/^(?:failed|incomplete|in_progress)$/) }
              : {}),
          },
        ];
      case 'compaction':
        return isSummary(item)
          ? [
              {
                type: 'message',
                role: 'user',
                content: [{ type: 'input_text', text: expect.stringContaining(item.summary) }],
              },
            ]
          : [{ type: 'compaction', id: item.id, encrypted_content: item.encryptedContent }];
      case 'opaque':
        return [item.raw];
      default:
        return assertNever(item);
    }
  };

  /** The message-first layout, computed independently from the whole answer. */
  const inMessageFirst = (items: readonly Produced[]): readonly Produced[] => {
    const messages = items.filter(isMessage);
    const [first] = messages;
    const others = items.filter((item) => !isMessage(item) && !isReasoning(item));
    if (first === undefined) return others;
    const texts = messages.map((item) => wordsOf(item, 'text'));
    const text = joined(texts);
    const annotations = messages.flatMap((item, index) => {
      const before = joined(texts.slice(0, index));
      const start = before.length + (before === '' ? 0 : 2);
      const cited = item.parts.flatMap((part) => (part.kind === 'text' ? (part.annotations ?? []) : []));
      return cited.map((one) => movedAnnotation(one, start));
    });
    const refusals = messages.flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'refusal'));
    const refusal = joined(messages.map((item) => wordsOf(item, 'refusal')));
    const { phase, ...head } = first;
    const message: Produced = {
      ...head,
      ...(phase === 'final_answer' ? { phase } : {}),
      parts: [
        ...(text === '' && refusals.length > 0
          ? []
          : [{ kind: 'text', text, ...(annotations.length === 0 ? {} : { annotations }) } as const]),
        ...(refusals.length === 0 ? [] : [{ kind: 'refusal', text: refusal } as const]),
      ],
    };
    return [message, ...others];
  };

  const sentBack = async (events: readonly TurnEvent[], { layout, encrypted }: Choice) => {
    const meta = {
      id: 'resp_1',
      createdAt: 1_800_000_000,
      echo: { model: 'm', input: 'hi' },
      tools: [],
      effort: null,
      serviceTier: null,
      includeEncryptedReasoning: encrypted,
      isStored: false,
      continues: null,
      isBackground: false,
      isForCodex: false,
      usagePolicy: 'exact' as const,
    };
    const shown = { ids: fixedAmbient().ids, showCommentary: true };
    const reply = await fold(arrange(emit(events), layout, shown));
    const output = asJson(projectReply(reply, meta).output) as readonly unknown[];
    const outputs = callsOf(reply).map(answeredAs);
    const asked = { role: 'user', content: 'hi' };
    return readResponses(
      parseResponse({ model: 'm', input: [asked, ...output, ...outputs, asked] }),
      OPTIONS,
    );
  };

  it("is the model's output in its order, and every field is read", async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, async (events, choice) => {
        const said = await fold(emit(events));
        const outputs = callsOf(said).map(answeredAs);
        const { request, ignored } = await sentBack(events, choice);
        const items = choice.layout === 'natural' ? said.items : inMessageFirst(said.items);
        expect(betweenUsers(request)).toEqual([
          ...items.flatMap((item) => expected(item, choice.encrypted)),
          ...outputs,
        ]);
        expect(ignored).toEqual([]);
      }),
      { numRuns: 600 },
    );
  });

  it('is accepted by the ChatGPT backend unchanged, except for reasoning that it cannot decrypt', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, layouts, async (events, choice) => {
        const { request } = await sentBack(events, choice);
        const { ignored, ...fitted } = fitHistory(wholeHistory(request.items), CHATGPT_HISTORY);
        const leftOut = request.items.filter((_, index) => ignored.includes(index));
        expect(leftOut.filter((item) => item.kind !== 'reasoning')).toEqual([]);
        expect(fitted.items).toEqual(request.items.filter((item) => !leftOut.includes(item)));
      }),
    );
  });
});

describe('an answer of the Chat API, sent back', () => {
  const shown = fc.record({ showReasoning: fc.boolean(), showCommentary: fc.boolean() });

  it('is one message with all text, followed by the calls in their order', async () => {
    await fc.assert(
      fc.asyncProperty(turnEvents, shown, async (events, options) => {
        const said = await fold(emit(events));
        fc.pre(said.outcome.kind !== 'failed');
        const reply = await fold(arrangeChat(emit(events), options));
        const { choices } = projectChat([reply], {
          id: 'chatcmpl-1',
          createdAt: 1_800_000_000,
          model: 'm',
          serviceTier: null,
          isLegacy: false,
          isAlsoLegacy: false,
          includeUsage: false,
          usagePolicy: 'exact',
        });
        const calls = callsOf(said);
        const asked = { role: 'user', content: 'hi' };
        const outputs = calls.map(({ callId }) => ({ role: 'tool', tool_call_id: callId, content: 'x' }));
        const messages = asJson([asked, choices[0]?.message, ...outputs, asked]);
        const { request, ignored } = readChat({ model: 'm', messages }, OPTIONS);

        // A chat message has one text, before its calls.
        const spoken = said.items.flatMap((item) =>
          item.kind === 'message' && (options.showCommentary || item.phase !== 'commentary') ? [item] : [],
        );
        const text = joined(spoken.map((item) => wordsOf(item, 'text')));
        const refusal = joined(spoken.map((item) => wordsOf(item, 'refusal')));
        const content = [text, refusal].filter((one) => one !== '');
        expect(betweenUsers(request)).toEqual(
          asJson([
            ...(content.length === 0
              ? []
              : [
                  {
                    type: 'message',
                    role: 'assistant',
                    content: content.map((one) => ({ type: 'output_text', text: one })),
                  },
                ]),
            // Chat has no namespaces, so it has no tools in them.
            ...calls.map((call) => without(calledAs(call), 'namespace')),
            ...calls.map(answeredAs),
          ]),
        );
        expect(ignored).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });
});

const callsOf = ({ items }: Reply) => items.filter(isToolCall);

const calledAs = ({ tool, callId, name, namespace, input }: ToolCall) => ({
  call_id: callId,
  name,
  ...(namespace === undefined ? {} : { namespace }),
  ...(tool === 'function'
    ? { type: 'function_call', arguments: input }
    : { type: 'custom_tool_call', input }),
});

const answeredAs = ({ tool, callId }: ToolCall) => ({
  type: tool === 'function' ? 'function_call_output' : 'custom_tool_call_output',
  call_id: callId,
  output: 'x',
});

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');
