/** What other nouns may ask of results. */
export { findLearnerAssessments, findLive } from './store.ts';
