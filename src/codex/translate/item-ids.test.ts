import { describe, expect, it } from 'vitest';

import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { ItemIds } from './item-ids.ts';

const fresh = (): ItemIds => new ItemIds(fixedAmbient().ids);

describe('ItemIds', () => {
  it("are the upstream's own", () => {
    const ids = fresh();
    expect([ids.create('msg_a', 'msg'), ids.of('msg_a', 'msg'), ids.known('msg_a')]).toEqual([
      'msg_a',
      'msg_a',
      'msg_a',
    ]);
  });

  it('are made where the upstream has none', () => {
    const ids = fresh();
    expect([ids.create(undefined, 'msg'), ids.create('', 'fc'), ids.known(undefined)]).toEqual([
      'msg_minted1',
      'fc_minted2',
      undefined,
    ]);
  });

  it('never name two items: a second one of the same name is renamed', () => {
    const ids = fresh();
    expect([ids.create('a', 'msg'), ids.create('a', 'msg'), ids.of('a', 'msg')]).toEqual([
      'a',
      'msg_minted1',
      'msg_minted1',
    ]);
  });

  it('are created by a first mention', () => {
    const ids = fresh();
    expect([ids.known('x'), ids.of('x', 'rs'), ids.known('x')]).toEqual([undefined, 'x', 'x']);
  });
});
