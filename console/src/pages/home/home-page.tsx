import { CardGrid } from '../../components/card.tsx';
import { LimitsCard } from '../../components/limits-card.tsx';
import { PageHead } from '../../components/page-head.tsx';
import { ConnectCard } from './connect-card.tsx';
import { ErrorsCard } from './errors-card.tsx';
import { ServerCard } from './server-card.tsx';
import { UsageCard } from './usage-card.tsx';
import './home.css';

/** The state of the server at a glance. */
export const HomePage = () => (
  <>
    <PageHead title="Home" />
    <CardGrid>
      <ServerCard />
      <LimitsCard />
      <UsageCard />
      <ErrorsCard />
      <ConnectCard />
    </CardGrid>
  </>
);
