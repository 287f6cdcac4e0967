import { Badge, type Tone } from '../../components/badge.tsx';
import type { AgentSession, AgentTurn } from './agent-answers.ts';

const SHOWN: Readonly<Record<AgentSession['status'], readonly [text: string, tone: Tone]>> = {
  idle: ['Idle', 'neutral'],
  in_progress: ['Working', 'info'],
  requires_action: ['Waits for you', 'warn'],
  failed: ['Ended', 'bad'],
};

interface SessionStatusBadgeProps {
  readonly session: AgentSession;
  readonly turn?: AgentTurn | null;
}

export const SessionStatusBadge = ({ session: { status }, turn = null }: SessionStatusBadgeProps) => {
  if (status === 'in_progress' && turn?.status === 'queued') return <Badge>Queued</Badge>;
  const [text, tone] = SHOWN[status];
  return <Badge tone={tone}>{text}</Badge>;
};
