import { describe, expect, it } from 'vitest';
import { numbersOf, phrasesOf, shorten, topicWords } from './text-hints.ts';

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
