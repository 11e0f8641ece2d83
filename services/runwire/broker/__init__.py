"""All Redis knowledge: partitions, membership, leases, the commit, trimming. It carries bytes and knows no grammar."""
