-- Changes nothing: the number is taken by the events, whose migration comes in its place.
SELECT 1;
