import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { ScriptStep } from '../../src/demo/script-step.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';

/** A model that asks for one city, then for two at once, and then repeats the results. */
export const threeRounds: Script = ({ body }, connection) => answer(connection, stepsFor(body));

export const QUESTION = 'What is the weather in Paris, Oslo and Rome?';
export const ANSWER = 'Paris: rain. Oslo: snow. Rome: sun.';

const WEATHER: Readonly<Record<string, string>> = { Paris: 'rain', Oslo: 'snow', Rome: 'sun' };

/** The tool, as every client of these tests runs it. */
export const weatherIn = (city: string): string => `${city}: ${WEATHER[city] ?? 'fog'}`;

const THOUGHT = 'sealed-thought-about-paris';

const stepsFor = (body: JsonObject): readonly ScriptStep[] => {
  const outputs = itemsOf(body).filter(({ type }) => type === 'function_call_output');
  if (outputs.length === 0) {
    return [
      { reasoning: { summary: ['Paris first.'], encrypted: THOUGHT } },
      { call: { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_paris' } },
    ];
  }
  if (outputs.length === 1) {
    return [
      { call: { name: 'get_weather', arguments: { city: 'Oslo' }, callId: 'call_oslo' } },
      { call: { name: 'get_weather', arguments: { city: 'Rome' }, callId: 'call_rome' } },
    ];
  }
  const told = new Map(outputs.map(({ call_id: id, output }) => [id, textOf(output)]));
  const said = ['call_paris', 'call_oslo', 'call_rome'].map((id) => `${told.get(id) ?? '?'}.`);
  return [{ text: said.join(' ') }];
};

/** A model that reasons, calls the tool, and repeats the result as JSON. */
export const looksThenSaysJson: Script = ({ body }, connection) => {
  const output = itemsOf(body).find(({ type }) => type === 'function_call_output');
  const call = { name: 'get_weather', arguments: { city: 'Paris' } };
  return answer(
    connection,
    output === undefined
      ? [{ reasoning: { summary: ['Hm.'], encrypted: 'sealed' } }, { call }]
      : [{ text: JSON.stringify({ weather: textOf(output['output']) }) }],
  );
};

export const itemsOf = (body: JsonObject): readonly JsonObject[] =>
  Array.isArray(body['input']) ? body['input'].filter(isJsonObject) : [];

/** Clients write an output as text or as a list of parts. */
export const textOf = (output: unknown): string => {
  if (typeof output === 'string') return unquoted(output);
  return Array.isArray(output)
    ? output
        .map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
        .join('')
    : '?';
};

/** Some clients write every output as JSON. */
const unquoted = (text: string): string => (text.startsWith('"') ? (JSON.parse(text) as string) : text);

/** Whether the reasoning preceded its call in every request that had the call. */
export const keepsThought = (bodies: readonly JsonObject[]): boolean =>
  bodies.every((body) => {
    const items = itemsOf(body);
    const call = items.findIndex(({ call_id: id, type }) => type === 'function_call' && id === 'call_paris');
    return call === -1 || items[call - 1]?.['encrypted_content'] === THOUGHT;
  });
