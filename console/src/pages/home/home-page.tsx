import { PageHead } from '../../components/page-head.tsx';
import { Empty } from '../../components/states.tsx';

/** The state of the server at a glance. */
export const HomePage = () => (
  <>
    <PageHead title="Home" />
    <Empty>Nothing is shown here yet.</Empty>
  </>
);
