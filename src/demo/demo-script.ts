import { crc32, deflateSync } from 'node:zlib';

import { assertNever } from '../kit/assert-never.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { sampleValue } from '../schemas/sample-value.ts';
import { answer } from './answer.ts';
import {
  chooseTool,
  argumentsFor,
  requestedFormat,
  requestedImage,
  requestedReasoning,
  declaredTools,
  endsWithUserMessage,
  freshToolOutputs,
  lastUserMessage,
  maxOutputTokens,
  toolPolicy,
  type RequestedImage,
  hintsOf,
  shorten,
} from './read-request.ts';
import { shrinkRequest, hasSchemas, withoutSchemas } from './shrink-request.ts';
import type { Script } from './model-server.ts';
import type { ScriptStep, ItemStep } from './script-step.ts';
import { systemAmbient } from '../kit/ambient.ts';

/** The letters D, E, M, O: five points wide, seven high. */
const LETTERS = [
  ['#### ', '#   #', '#   #', '#   #', '#   #', '#   #', '#### '],
  ['#####', '#    ', '#    ', '#### ', '#    ', '#    ', '#####'],
  ['#   #', '## ##', '# # #', '#   #', '#   #', '#   #', '#   #'],
  [' ### ', '#   #', '#   #', '#   #', '#   #', '#   #', ' ### '],
] as const;
const ROWS = [0, 1, 2, 3, 4, 5, 6] as const;
/** Empty points around the word. */
const MARGIN = '  ';
/** Each side of an image without a requested size, one that OpenAI's API allows. */
const SIDE = 1_024;
/** Limit in pixels for each side, larger than any model draws. */
const MAX_SIDE = 4_096;

/** The word DEMO with a margin, line by line. */
const points = (): readonly string[] => {
  const word = ROWS.map((row) => `${MARGIN}${LETTERS.map((letter) => letter[row]).join(' ')}${MARGIN}`);
  const empty = Array.from(MARGIN, () => ' '.repeat(word[0]?.length ?? 0));
  return [...empty, ...word, ...empty];
};

const chunk = (type: string, data: Buffer): Buffer => {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
};

/** Scales a line of points to pixels and centres it. */
const stretched = (line: string, pixels: number, scale: number): readonly string[] => {
  const offset = Math.floor((pixels - line.length * scale) / 2);
  return Array.from({ length: pixels }, (_, at) => line[Math.floor((at - offset) / scale)] ?? ' ');
};

/** Packs pixels into bits (1 is white), after the PNG filter byte 0. */
const packed = (pixels: readonly string[]): Buffer => {
  const row = Buffer.alloc(1 + Math.ceil(pixels.length / 8));
  pixels.forEach((point, at) => {
    const byte = 1 + Math.floor(at / 8);
    if (point !== '#') row[byte] = (row[byte] ?? 0) | (0x80 >> (at % 8));
  });
  return row;
};

/** Encodes a black-and-white PNG. */
const encode = (lines: readonly string[], width: number, height: number): Buffer => {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Bit depth 1, greyscale; the other bytes are the PNG defaults, 0.
  header[8] = 1;
  const scale = Math.max(1, Math.floor(Math.min(width / (lines[0]?.length ?? 1), height / lines.length)));
  const empty = packed(stretched('', width, scale));
  const rows = lines.map((line) => packed(stretched(line, width, scale)));
  const offset = Math.floor((height - lines.length * scale) / 2);
  const body = Array.from({ length: height }, (_, at) => rows[Math.floor((at - offset) / scale)] ?? empty);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(body), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
};

interface DemoImage {
  readonly base64: string;
  /** Width and height in pixels, as in `1024x1536`. */
  readonly size: string;
}

const draw = (width: number, height: number): DemoImage => ({
  base64: encode(points(), width, height).toString('base64'),
  size: `${width}x${height}`,
});

/** The image in its default size. */
export const DEMO_IMAGE: DemoImage = draw(SIDE, SIDE);

/** The word DEMO as an image: what the demo model draws for any prompt. Unsupported sizes get the default size. */
export const demoImage = (size: string | null): DemoImage => {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(size ?? '') ?? [];
  const sides = [Number(width), Number(height)] as const;
  return sides.every((side) => side >= 1 && side <= MAX_SIDE) ? draw(...sides) : DEMO_IMAGE;
};

export interface DrawnImage {
  /** Base64; null if drawing failed. */
  readonly result: string | null;
  /** Base64. */
  readonly previews?: readonly string[];
  /** Other fields of the item, such as its size or an error. */
  readonly details?: JsonObject;
}

/** The output of the backend's image generation tool. */
export const imageStep = ({ result, previews = [], details = {} }: DrawnImage): ItemStep => {
  const type = 'image_generation_call';
  const head = { id: systemAmbient.ids.mint('ig'), type };
  const { size, quality, background, output_format } = details;
  const event = (name: string, more: JsonObject = {}) => ({ type: `response.${type}.${name}`, ...more });
  return {
    initial: { ...head, status: 'in_progress', result: null },
    events: [
      event('in_progress'),
      event('generating'),
      ...previews.map((preview, index) =>
        event('partial_image', {
          partial_image_index: index,
          partial_image_b64: preview,
          size,
          quality,
          background,
          output_format,
        }),
      ),
      ...(result === null ? [] : [event('completed')]),
    ],
    item: { ...head, status: result === null ? 'failed' : 'completed', ...details, result },
  };
};

/** A request to be answered in another thread. */
export interface DemoJob {
  readonly body: JsonObject;
  readonly howToSignIn: string;
}

export interface DemoOptions {
  /**
   * Computes the steps for a request with tools or schemas, which a client can make arbitrarily expensive.
   * Returns null if it did not finish. Default: in this thread.
   */
  readonly computeSteps?: (job: DemoJob) => Promise<readonly DemoStep[] | null>;
  /** The sentence that explains how to get a real model. */
  readonly howToSignIn?: string;
  /** Pause between two deltas, so that streaming is visible. */
  readonly deltaDelayMs?: number;
}

const HOW_TO_SIGN_IN =
  'For real answers, sign in with Codex (the start-up message of the server says how) or set PROXY_UPSTREAM_BASE_URL.';

/** The built-in model for a first start without an account or network. Its answers are deterministic. */
export const demoScript = (options: DemoOptions = {}): Script => {
  const signIn = options.howToSignIn ?? HOW_TO_SIGN_IN;
  const delayMs = options.deltaDelayMs ?? 5;
  const computeSteps = options.computeSteps ?? (async (job: DemoJob) => demoSteps(job.body, job.howToSignIn));
  return async (request, connection) => {
    const body = shrinkRequest(request.body);
    const computed = hasSchemas(body) ? await computeSteps({ body, howToSignIn: signIn }) : null;
    const steps = computed ?? demoSteps(withoutSchemas(body), signIn);
    await answer(connection, cutToTokens(steps, maxOutputTokens(body)), { delayMs });
  };
};

/** The demo model's answer to a request. */
export const demoSteps = (body: JsonObject, howToSignIn: string): readonly DemoStep[] => {
  const { text } = lastUserMessage(body);
  const image = requestedImage(body);
  if (image !== null) return [imageOf(text, image)];
  const policy = toolPolicy(body);
  const tool =
    policy.mode === 'always' || endsWithUserMessage(body)
      ? chooseTool(declaredTools(body), policy, text)
      : null;
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
    ...(tool.parameters === null && { tool: 'custom' as const }),
    arguments: argumentsFor(tool, text),
    ...(tool.namespace !== null && { namespace: tool.namespace }),
  },
  chunkSize: 8,
});

const imageOf = (text: string, requested: RequestedImage): DemoStep => {
  const { base64, size } = demoImage(requested.size);
  return imageStep({
    result: base64,
    previews: Array.from({ length: requested.previews }, () => base64),
    details: {
      revised_prompt: `An image of the demo model, which cannot draw. You wrote: “${shorten(text, 160)}”.`,
      size,
      quality: 'low',
      background: 'opaque',
      output_format: 'png',
    },
  });
};

const reasoningSteps = (body: JsonObject, toolName: string | null): readonly DemoStep[] => {
  const requested = requestedReasoning(body);
  if (requested === null) return [];
  const plan = toolName === null ? 'I can answer this at once.' : `The tool ${toolName} fits this question.`;
  return [
    {
      reasoning: {
        summary: requested.summary ? [`**Reading the message**\n\n${plan}`] : [],
        // Imitates encrypted reasoning; the client sends it back in the next request.
        ...(requested.encrypted && { encrypted: Buffer.from(`demo reasoning: ${plan}`).toString('base64') }),
      },
    },
  ];
};

const finalText = (body: JsonObject, howToSignIn: string): DemoStep => {
  const format = requestedFormat(body);
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
    const lines = outputs.map(
      ({ name, output }) => `${name === '' ? 'The tool' : name} said: “${shorten(output, 300)}”`,
    );
    return `${lines.join('\n')}\n\nThat is all the demo model can tell you about it. ${howToSignIn}`;
  }
  const { text, images } = lastUserMessage(body);
  const quoted = text.trim() === '' ? '' : ` You wrote: “${shorten(text, 160)}”.`;
  const seen =
    images === 0 ? '' : ` I received ${images === 1 ? 'one image' : `${String(images)} images`} with it.`;
  return `Hello! I am the demo model of codex-app-server-proxy: everything works, only the thinking is missing.${quoted}${seen} ${howToSignIn}`;
};

/**
 * Truncates the answer at the token limit, estimated as four characters per token. Tool calls are truncated
 * too, as a real model's would be.
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
