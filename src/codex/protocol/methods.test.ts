import { describe, expect, it } from 'vitest';

import { SERVER_NOTIFICATION_METHODS } from './generated/server-methods.ts';
import {
  IGNORED_NOTIFICATIONS,
  isIgnoredNotification,
  isKnownNotification,
  KNOWN_NOTIFICATIONS,
  WARNING_NOTIFICATIONS,
  warningText,
} from './methods.ts';

const judge = (method: string) => [
  isKnownNotification({ method, params: {} }),
  isIgnoredNotification(method),
];

describe('notification methods', () => {
  it('are each either read or ignored, never both', () => {
    expect([...KNOWN_NOTIFICATIONS, ...WARNING_NOTIFICATIONS, ...IGNORED_NOTIFICATIONS].toSorted()).toEqual([
      ...SERVER_NOTIFICATION_METHODS,
    ]);
  });

  it("are classified as read, ignored or unknown, even if named like an object's own property", () => {
    expect({
      read: judge('item/agentMessage/delta'),
      ignored: judge('turn/started'),
      unknown: judge('turn/reconsidered'),
      inherited: judge('toString'),
    }).toEqual({
      read: [true, false],
      ignored: [false, true],
      unknown: [false, false],
      inherited: [false, false],
    });
  });
});

it.each([
  ['configWarning', { summary: 'Invalid.', details: 'config.toml:2', path: '/x' }, 'Invalid. config.toml:2'],
  ['configWarning', { summary: 'Invalid.', details: null }, 'Invalid.'],
  ['deprecationNotice', { summary: '`x` is deprecated.', details: 'Use y.' }, '`x` is deprecated. Use y.'],
  ['warning', { threadId: null, message: 'Beware.' }, 'Beware.'],
  ['warning', 7, 'warning'],
  ['turn/started', { message: 'Hello.' }, null],
])('reads the text of the warning %s %j', (method, params, text) => {
  expect(warningText(method, params)).toBe(text);
});
