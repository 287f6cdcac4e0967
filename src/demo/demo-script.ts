import { assertNever } from '../kit/assert-never.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { sampleValue } from '../schemas/sample-value.ts';
import { answer } from './answer.ts';
import { chooseTool, argumentsFor } from './choose-tool.ts';
import { demoImage } from './demo-image.ts';
import { essenceOf, hasSchemas, withoutSchemas } from './essence.ts';
import { imageStep } from './image-step.ts';
import type { Script } from './model-server.ts';
import {
  askedFormat,
  askedImage,
  askedReasoning,
  declaredTools,
  endsWithUserMessage,
  freshToolOutputs,
  lastUserMessage,
  maxOutputTokens,
  toolWish,
  type AskedImage,
} from './read-request.ts';
import type { ScriptStep } from './step.ts';
import { hintsOf, shorten } from './words.ts';

/** A request, to be thought about elsewhere. */
export interface DemoJob {
  readonly body: JsonObject;
  readonly howToSignIn: string;
}

export interface DemoOptions {
  /**
   * Where it thinks about tools and schemas of strangers, which may take for ever; null: it did not come
   * to an end. Default: here.
   */
  readonly think?: (job: DemoJob) => Promise<readonly DemoStep[] | null>;
  /** The sentence that tells how to get a real model. */
  readonly howToSignIn?: string;
  /** Between two deltas, so that streaming can be seen. */
  readonly deltaDelayMs?: number;
}

const HOW_TO_SIGN_IN =
  'For real answers, sign in with Codex (the start-up message of the server says how) or set PROXY_UPSTREAM_BASE_URL.';

/** The model of the first start on an empty machine: no account, no network, always the same answer. */
export const demoScript = (options: DemoOptions = {}): Script => {
  const signIn = options.howToSignIn ?? HOW_TO_SIGN_IN;
  const delayMs = options.deltaDelayMs ?? 5;
  const think = options.think ?? (async (job: DemoJob) => demoSteps(job.body, job.howToSignIn));
  return async (request, connection) => {
    const body = essenceOf(request.body);
    const thought = hasSchemas(body) ? await think({ body, howToSignIn: signIn }) : null;
    const steps = thought ?? demoSteps(withoutSchemas(body), signIn);
    await answer(connection, cutToTokens(steps, maxOutputTokens(body)), { delayMs });
  };
};

/** What the demo model does with a request. */
export const demoSteps = (body: JsonObject, howToSignIn: string): readonly DemoStep[] => {
  const { text } = lastUserMessage(body);
  const image = askedImage(body);
  if (image !== null) return [imageOf(text, image)];
  const wish = toolWish(body);
  const tool =
    wish.mode === 'always' || endsWithUserMessage(body) ? chooseTool(declaredTools(body), wish, text) : null;
  return [
    ...reasoningSteps(body, tool?.name ?? null),
    tool === null ? finalText(body, howToSignIn) : callOf(tool, text),
  ];
};

export type DemoStep = Extract<
  ScriptStep,
  { text: string } | { call: unknown } | { item: unknown } | { reasoning: unknown } | { incomplete: unknown }
>;

const callOf = (tool: Parameters<typeof argumentsFor>[0], text: string): DemoStep => ({
  call: {
    name: tool.name,
    arguments: argumentsFor(tool, text),
    ...(tool.namespace !== null && { namespace: tool.namespace }),
  },
  chunkSize: 8,
});

const imageOf = (text: string, asked: AskedImage): DemoStep => {
  const { base64, size } = demoImage(asked.size);
  return imageStep({
    result: base64,
    previews: Array.from({ length: asked.previews }, () => base64),
    said: {
      revised_prompt: `An image of the demo model, which cannot draw. You wrote: “${shorten(text, 160)}”.`,
      size,
      quality: 'low',
      background: 'opaque',
      output_format: 'png',
    },
  });
};

const reasoningSteps = (body: JsonObject, toolName: string | null): readonly DemoStep[] => {
  const asked = askedReasoning(body);
  if (asked === null) return [];
  const plan = toolName === null ? 'I can answer this at once.' : `The tool ${toolName} fits this question.`;
  return [
    {
      reasoning: {
        summary: asked.summary ? [`**Reading the message**\n\n${plan}`] : [],
        // Stands for what only the backend can read; it comes back in the next request.
        ...(asked.encrypted && { encrypted: Buffer.from(`demo reasoning: ${plan}`).toString('base64') }),
      },
    },
  ];
};

const finalText = (body: JsonObject, howToSignIn: string): DemoStep => {
  const format = askedFormat(body);
  const { text } = lastUserMessage(body);
  switch (format.kind) {
    case 'schema':
      return { text: JSON.stringify(sampleValue(format.schema, hintsOf(text)) ?? {}), chunkSize: 8 };
    case 'object':
      return { text: JSON.stringify({ answer: 'demo', question: shorten(text, 80) }), chunkSize: 8 };
    case 'text':
      return { text: friendlyText(body, howToSignIn) };
    default:
      return assertNever(format);
  }
};

const friendlyText = (body: JsonObject, howToSignIn: string): string => {
  const outputs = freshToolOutputs(body);
  if (outputs.length > 0) {
    const said = outputs.map(
      ({ name, output }) => `${name === '' ? 'The tool' : name} said: “${shorten(output, 300)}”`,
    );
    return `${said.join('\n')}\n\nThat is all the demo model can tell you about it. ${howToSignIn}`;
  }
  const { text, images } = lastUserMessage(body);
  const quoted = text.trim() === '' ? '' : ` You wrote: “${shorten(text, 160)}”.`;
  const seen =
    images === 0 ? '' : ` I received ${images === 1 ? 'one image' : `${String(images)} images`} with it.`;
  return `Hello! I am the demo model of codex-app-server-proxy: everything works, only the thinking is missing.${quoted}${seen} ${howToSignIn}`;
};

/**
 * Cuts the answer where the token limit falls, at four characters a token: the demo counts roughly,
 * like its usage numbers. A tool call is cut too, as a real model's would be.
 */
export const cutToTokens = (steps: readonly DemoStep[], maxTokens: number): readonly DemoStep[] => {
  let room = maxTokens * 4;
  const kept: DemoStep[] = [];
  for (const step of steps) {
    const written = writtenBy(step);
    if (written.length > room) return [...kept, ...cutStep(step, room), { incomplete: 'max_output_tokens' }];
    room -= written.length;
    kept.push(step);
  }
  return kept;
};

const writtenBy = (step: DemoStep): string => {
  if ('text' in step) return step.text;
  if ('call' in step) return JSON.stringify(step.call.arguments);
  return 'reasoning' in step ? step.reasoning.summary.join('') : '';
};

const cutStep = (step: DemoStep, room: number): readonly DemoStep[] => {
  const written = writtenBy(step)
    .slice(0, room)
    .replace(/[\uD800-\uDBFF]$/u, '');
  if (written === '') return [];
  if ('text' in step) return [{ ...step, text: written, end: 'incomplete' }];
  if ('call' in step) return [{ ...step, call: { ...step.call, arguments: written }, end: 'incomplete' }];
  return 'reasoning' in step
    ? [{ ...step, reasoning: { ...step.reasoning, summary: [written] }, end: 'incomplete' }]
    : [];
};
