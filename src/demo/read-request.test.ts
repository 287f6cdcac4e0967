import { describe, expect, it } from 'vitest';

import {
  numbersOf,
  phrasesOf,
  shorten,
  topicWords,
  type DeclaredTool,
  type ToolPolicy,
  chooseTool,
  argumentsFor,
} from './read-request.ts';

describe('topicWords', () => {
  it.each([
    ['What is the weather in Paris?', ['weather', 'pari']],
    ['get_currentWeather', ['current', 'weather']],
    ['Cities and city', ['citie', 'city']],
    ['please give me a list', []],
    ['', []],
  ])('%s', (text, words) => {
    expect([...topicWords(text)]).toEqual(words);
  });
});

describe('phrasesOf', () => {
  it.each([
    ['What is the weather in Paris?', ['Paris', 'weather']],
    ['weather in New York, then in Oslo', ['New York', 'Oslo', 'weather']],
    ['Berlin is nice', ['Berlin', 'nice']],
    ['Is Rome warm? Rome is old.', ['Rome', 'warm', 'old']],
    ['In Zürich', ['Zürich']],
    ['Read notes.txt.', ['notes.txt', 'Read', 'notes', 'txt']],
    ['Read ~/src/main.ts, e.g. line 1.5', ['~/src/main.ts', 'Read', 'src', 'main', 'line']],
    ['…', []],
  ])('%s', (text, phrases) => {
    expect(phrasesOf(text)).toEqual(phrases);
  });
});

describe('numbersOf', () => {
  it('takes whole numbers, not digits of words', () => {
    expect(numbersOf('add 2 and -3.5, but not gpt5 or 5th')).toEqual([2, -3.5]);
  });
});

describe('shorten', () => {
  it.each([
    ['short', 10, 'short'],
    ['  two\n lines ', 20, 'two lines'],
    ['a long sentence', 7, 'a long…'],
    ['😀😀😀', 2, '😀…'],
  ])('%s', (text, length, short) => {
    expect(shorten(text, length)).toBe(short);
  });
});

const tool = (name: string, description = '', parameters = {}): DeclaredTool => ({
  name,
  namespace: null,
  description,
  parameters,
});

const TOOLS = [
  tool('get_weather', 'Get the current weather of a city.'),
  tool('sendEmail', 'Sends a message to a person.'),
  tool('lookup', 'Finds a person in the address book.'),
];
const fitting: ToolPolicy = { mode: 'if-fitting', names: null };

describe('chooseTool', () => {
  it.each<[string, ToolPolicy, string, string | null]>([
    ['a word of the name', fitting, 'Send an email to Ann', 'sendEmail'],
    ['a word of the description', fitting, 'What is the address of Ann?', 'lookup'],
    ['a name beats a description', fitting, 'email this person', 'sendEmail'],
    ['nothing in common', fitting, 'Hello, how are you?', null],
    ['only stop words in common', fitting, 'Get the', null],
    ['forbidden in words', fitting, 'Respond with TEXT ONLY. Do NOT call any tools. The weather', null],
    ['forbidden, but demanded', { mode: 'always', names: null }, 'Do not use any tool.', 'get_weather'],
    ['never', { mode: 'never' }, 'weather', null],
    ['always', { mode: 'always', names: null }, 'hello', 'get_weather'],
    ['always, by name', { mode: 'always', names: ['lookup'] }, 'weather', 'lookup'],
    ['only some allowed', { mode: 'if-fitting', names: ['lookup'] }, 'weather', null],
    ['a name that is not there', { mode: 'always', names: ['nope'] }, 'weather', null],
  ])('%s', (_name, policy, text, expected) => {
    expect(chooseTool(TOOLS, policy, text)?.name ?? null).toBe(expected);
  });

  it('ignores words that occur only at the end of a long description', () => {
    const agent = tool(
      'agent',
      `Launches an agent for complex tasks.\n${'It has rules. '.repeat(20)}Say what it did.`,
    );
    expect(chooseTool([agent], fitting, 'Say hello.')).toBeNull();
    expect(chooseTool([agent], fitting, 'A complex task.')).toBe(agent);
  });
});

describe('argumentsFor', () => {
  const city = { city: { type: 'string' } };
  it.each([
    [
      'required ones',
      { properties: { ...city, unit: { enum: ['c', 'f'] } }, required: ['city'] },
      { city: 'Oslo' },
    ],
    ['all, where all are optional', { type: 'object', properties: city }, { city: 'Oslo' }],
    ['none declared', {}, {}],
    ['none possible', { required: ['x'], additionalProperties: false }, {}],
  ])('%s', (_name, parameters, expected) => {
    expect(argumentsFor(tool('f', '', parameters), 'How warm is it in Oslo?')).toEqual(expected);
  });
});
