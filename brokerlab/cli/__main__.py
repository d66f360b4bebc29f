from brokerlab.cli import main

main()
