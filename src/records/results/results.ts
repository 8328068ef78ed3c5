/** What other nouns may ask of results. */
export type { Review, ReviewFlag, ReviewOutcome } from './reviews.ts';
export { emptyReviews, findReviews, passReviews } from './reviews.ts';
export {
  findLive,
  findLiveWithin,
  findLearnerAssessments,
  findStored,
  forgetReasons,
  forgetReasonsBefore,
  passResults,
  replaceLearnerJson,
} from './store.ts';
