import { Badge, type Tone } from '../../components/badge.tsx';
import type { Key } from './key-types.ts';

const TONES: Readonly<Record<Key['status'], Tone>> = {
  active: 'good',
  paused: 'warn',
  expired: 'neutral',
  revoked: 'bad',
};

export const StatusBadge = ({ status }: Pick<Key, 'status'>) => <Badge tone={TONES[status]}>{status}</Badge>;
